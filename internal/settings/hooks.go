package settings

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/view"
)

// Observer learns of durable turns and commits. Its methods are called concurrently, on the
// engine's working goroutines. They must not block, and must not keep or change their
// arguments.
type Observer interface {
	// Turn is called once for each turn of a run that this node has made durable.
	Turn(start *history.Start, turn *core.Turn)
	// Committed is called for each transaction that writes turns, with their number and the
	// time the database took. Failed transactions count.
	Committed(turns int, took time.Duration)
}

// Observers are told in their order.
type Observers []Observer

// Turn tells of a durable turn. An observer may be user code, such as an exporter of spans: a panic
// in it ends neither the process nor what follows a durable turn.
func (all Observers) Turn(log *logs.Log, start *history.Start, turn *core.Turn) {
	for _, o := range all {
		recovered(func(v any, stack string) { log.ObserverPanicked(start.Run, fmt.Sprint(v), stack) }, func() { o.Turn(start, turn) })
	}
}

// Committed returns what tells of commits, nil without observers.
func (all Observers) Committed(log *logs.Log) func(turns int, took time.Duration) {
	if len(all) == 0 {
		return nil
	}
	return func(turns int, took time.Duration) {
		for _, o := range all {
			recovered(func(v any, stack string) { log.ObserverPanicked("", fmt.Sprint(v), stack) }, func() { o.Committed(turns, took) })
		}
	}
}

// TellPaused calls the hook for a call that the engine has paused.
func (c *Engine) TellPaused(log *logs.Log, p view.PausedCall) {
	if c.OnPaused == nil {
		return
	}
	recovered(func(v any, stack string) { log.HookPanicked(p.WorkflowID, p.Call, fmt.Sprint(v), stack) }, func() { c.OnPaused(p) })
}

// recovered calls a function of the user.
func recovered(panicked func(v any, stack string), call func()) {
	defer func() {
		if v := recover(); v != nil {
			panicked(v, string(debug.Stack()))
		}
	}()
	call()
}
