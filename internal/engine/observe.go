package engine

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/post"
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

// observe tells the observers of a durable turn.
func (r *activeRun) observe(out *core.Turn) {
	for _, o := range r.engine.config.Observers {
		r.engine.observeWith(o, r.run.Began(), out)
	}
}

// observeWith calls one observer. It may be user code, such as an exporter of spans: a panic
// in it ends neither the process nor what follows a durable turn.
func (e *Engine) observeWith(o Observer, start *history.Start, out *core.Turn) {
	defer func() {
		if v := recover(); v != nil {
			e.log.ObserverPanicked(start.Run, fmt.Sprint(v), string(debug.Stack()))
		}
	}()
	o.Turn(start, out)
}

// committed returns the callback of the committer, nil without observers.
func (c *Config) committed() func(turns int, took time.Duration) {
	if len(c.Observers) == 0 {
		return nil
	}
	return func(turns int, took time.Duration) {
		for _, o := range c.Observers {
			o.Committed(turns, took)
		}
	}
}

// Gauges is the state of an engine in memory.
type Gauges struct {
	Residents  int   // runs in memory
	Running    int   // attempts whose body runs
	Slots      int   // for attempts
	Partitions int   // that this node serves
	StuckTurns int   // of workflow code, that have not returned
	Swept      int64 // when the last sweep by retention ended, in Unix nanoseconds; 0 for none
	Away       bool  // the database is unavailable
	Live       bool  // see Engine.Live
	Ready      bool  // see Engine.Ready
}

// Gauges returns the current gauges. It reads memory only.
func (e *Engine) Gauges() Gauges {
	if e == None {
		return Gauges{}
	}
	g := Gauges{Live: e.Live() == nil, Ready: e.Ready() == nil, Running: e.attempts.Begun(), Slots: e.config.Concurrency, Swept: e.sweeper.Last()}
	e.mu.Lock()
	defer e.mu.Unlock()
	g.StuckTurns = e.code.guard.Stuck()
	if e.life.phase != stopped {
		g.Residents, g.Partitions, g.Away = len(e.residents.all), len(e.locations.all), e.away() != nil
	}
	return g
}

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
