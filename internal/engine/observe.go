package engine

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
)

// Observer is told what an engine did, when it is durable. Its methods are called
// concurrently, on the goroutines that work; they must not block, nor keep or change what
// they are given.
type Observer interface {
	// Turn is told of each turn of a run that this node has made durable, once.
	// Neither may be kept.
	Turn(start *history.Start, turn *core.Turn)
	// Committed is told of each transaction that turns were written by: of how many, and
	// how long the database took, failed tries included.
	Committed(turns int, took time.Duration)
}

// observe tells the observers of a durable turn.
func (e *Engine) observe(r *activeRun, out *core.Turn) {
	if len(e.config.Observers) == 0 {
		return
	}
	start := r.run.Began()
	for _, o := range e.config.Observers {
		e.observeWith(o, start, out)
	}
}

// observeWith tells one observer. It may call code of users, such as an exporter of spans:
// what panics there ends neither the process nor what comes after a durable turn.
func (e *Engine) observeWith(o Observer, start *history.Start, out *core.Turn) {
	defer func() {
		if v := recover(); v != nil {
			e.log.ObserverPanicked(start.Run, fmt.Sprint(v), string(debug.Stack()))
		}
	}()
	o.Turn(start, out)
}

// committed is what the committer tells, nil without observers.
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

// Gauges are how an engine stands in memory.
type Gauges struct {
	Residents  int  // runs in memory
	Running    int  // attempts
	Slots      int  // for attempts
	Partitions int  // that this node serves
	StuckTurns int  // of workflow code, that never ended
	Away       bool // the database, or the way to it
	Live       bool // see Engine.Live
	Ready      bool // see Engine.Ready
}

// Gauges reads memory only.
func (e *Engine) Gauges() Gauges {
	if e == None {
		return Gauges{}
	}
	g := Gauges{Live: e.Live() == nil, Ready: e.Ready() == nil, Running: e.attempts.Begun(), Slots: e.config.Concurrency}
	e.mu.Lock()
	defer e.mu.Unlock()
	g.StuckTurns = e.health.stuckTurns
	if e.phase != stopped {
		g.Residents, g.Partitions, g.Away = len(e.residents), len(e.partitions), e.away() != nil
	}
	return g
}
