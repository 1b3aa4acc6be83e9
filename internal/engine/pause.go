package engine

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/view"
)

// tellWaiting calls the hook for each call that waits for a person, and then delivers to the
// run that the hook has returned. The engine's mu is held.
func (r *activeRun) tellWaiting(waiting []core.Waiting) {
	e := r.engine
	if len(waiting) == 0 || e.life.phase == stopped {
		return
	}
	start := r.run.Start()
	p, id := r.location, r.id
	e.code.pool.Run(func() {
		for _, w := range waiting {
			e.tellPaused(view.PausedCall{
				WorkflowID: start.WorkflowID, RunID: id, Workflow: start.Type, Call: w.Call, Name: w.Name,
				State: string(w.State), Reason: w.Reason, Failures: w.Failures, Err: w.Failure.Err(), Time: time.Unix(0, w.At).UTC(),
			})
			p.deliver(id, post.Mail{Input: core.Told{AttemptRef: w.AttemptRef}})
		}
	})
}

// tellPaused calls the hook and recovers its panics.
func (e *Engine) tellPaused(p view.PausedCall) {
	defer func() {
		if v := recover(); v != nil {
			e.log.HookPanicked(p.WorkflowID, p.Call, fmt.Sprint(v), string(debug.Stack()))
		}
	}()
	if e.config.OnPaused != nil {
		e.config.OnPaused(p)
	}
}
