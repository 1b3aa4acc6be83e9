package engine

import (
	"errors"
	"fmt"
)

// Health returns what keeps the engine from doing its work, nil if nothing does.
func (e *Engine) Health() error {
	return e.diagnose(func() error {
		return errors.Join(e.doomed(), e.away(), e.impaired())
	})
}

// Live returns faults that only a restart of the process can clear, nil if there are none.
func (e *Engine) Live() error { return e.diagnose(e.doomed) }

// Ready returns what keeps the engine from taking requests, nil if nothing does.
func (e *Engine) Ready() error {
	return e.diagnose(func() error {
		if e.life.phase == draining || e.life.stopping {
			return errors.Join(errDraining, e.doomed())
		}
		return errors.Join(e.doomed(), e.away())
	})
}

var errDraining = errors.New("the engine is draining: it finishes what runs and starts nothing new")

// diagnose calls of with the engine's mu held.
func (e *Engine) diagnose(of func() error) error {
	if e == None {
		return errNone
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return of()
}

// doomed returns faults from which this process does not recover. The engine's mu is held, as
// it is for away and impaired.
func (e *Engine) doomed() error {
	var errs []error
	if e.life.phase == stopped {
		errs = append(errs, ErrStopped)
	}
	if e.life.overwhelmed {
		errs = append(errs, fmt.Errorf("more than %d turns of workflow code never ended, so this engine starts nothing new and hands its work over: restart the process", e.config.MaxAbandoned))
	}
	errs = append(errs, e.member.Replaced(), e.attempts.Health())
	return errors.Join(errs...)
}

// away returns faults of the database, or of the connection to it.
func (e *Engine) away() error {
	var queues error
	if e.queues.server != nil {
		queues = e.queues.server.Health()
	}
	return errors.Join(e.db.reads.Err(), e.db.writes.Err(), e.member.Health(), queues)
}

// impaired returns faults that stop only part of the work.
func (e *Engine) impaired() error {
	var errs []error
	if e.life.phase != stopped {
		errs = append(errs, e.dispatcher.unserved.Faults()...)
	}
	if n := e.code.guard.Stuck(); n > 0 {
		errs = append(errs, fmt.Errorf("%d turns of workflow code never ended; restart the process to free their goroutines", n))
	}
	return errors.Join(errs...)
}

// abandoned is told of a turn of workflow code that did not return. Its goroutine is lost. If there
// are more than MaxAbandoned, the engine drains for good, even if some return later: a process
// that had so many will have more.
func (e *Engine) abandoned(stuck int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if stuck <= e.config.MaxAbandoned || e.life.phase != running {
		return
	}
	e.life.overwhelmed = true
	e.drain()
	e.member.Kick()
	e.log.Overwhelmed(stuck, e.config.MaxAbandoned)
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
		g.Residents, g.Partitions, g.Away = len(e.residents.all), e.locations.Count(), e.away() != nil
	}
	return g
}
