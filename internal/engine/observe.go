package engine

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
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
	e := r.engine
	if len(e.config.Observers) == 0 {
		return
	}
	start := r.run.Began()
	for _, o := range e.config.Observers {
		e.observeWith(o, start, out)
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
