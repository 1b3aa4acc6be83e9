package replay

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/workers"
)

// Guard runs workflow code under a time limit, so that code that exceeds it can be abandoned. It
// is safe for concurrent use.
type Guard struct {
	Pool  *workers.Pool // runs the code
	Limit time.Duration // for one turn of the code
	// While the engine stops and Hurry has ended, code has Grace only; if it exceeds that, the
	// error is also the cause of Hurry.
	Hurry context.Context
	Grace time.Duration
	// Abandoned is called when a turn was given up, with the number of those that have not
	// returned.
	Abandoned func(stuck int)

	mu    sync.Mutex
	stuck int
}

// Stuck returns how many turns that were given up have not returned.
func (g *Guard) Stuck() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stuck
}

// Stint is one use of workflow code: a replay, a step or a query. It may be used again unless its
// code is stuck.
type Stint struct {
	Instance seal.Instance // whose code runs; nil without code
	Progress atomic.Int64  // turns begun so far; each has its own time limit

	guard   *Guard
	use     func() error // runs the code
	work    func()       // calls run; allocated once
	result  chan error   // capacity 1
	timer   *time.Timer  // limits the current turn
	decided atomic.Bool  // the code has returned or was given up, whichever came first
}

// Do runs f, which runs workflow code, on its own goroutine. If abandoned code does return, its
// goroutine ends and closes the instance. If Do returns a *StuckError, the code may still be
// running.
func (g *Guard) Do(s *Stint, f func() error) error {
	if s.guard == nil {
		s.guard, s.result, s.timer = g, make(chan error, 1), time.NewTimer(g.Limit)
		s.work = s.run
	}
	s.use = f
	s.decided.Store(false)
	g.Pool.Run(s.work)
	limit, hurry := g.Limit, g.Hurry.Done()
	s.timer.Reset(limit)
	defer s.timer.Stop()
	for seen := int64(-1); seen != s.Progress.Load(); s.timer.Reset(limit) {
		seen = s.Progress.Load()
		select {
		case err := <-s.result:
			return err
		case <-hurry:
			limit, hurry, seen = min(limit, g.Grace), nil, -1
		case <-s.timer.C:
		}
	}
	stack := Stacks()
	g.mu.Lock()
	if s.decided.Swap(true) { // it returned just in time
		g.mu.Unlock()
		return <-s.result
	}
	g.stuck++
	stuck := g.stuck
	g.mu.Unlock()
	g.Abandoned(stuck)
	err := &StuckError{After: limit, Stack: stack}
	if limit < g.Limit {
		return fmt.Errorf("%w; %w", context.Cause(g.Hurry), err)
	}
	return err
}

// run runs the code and delivers its result, unless the code was given up before.
func (s *Stint) run() {
	err := ErrGoexit
	defer func() {
		if !s.decided.Swap(true) {
			s.result <- err
			return
		}
		s.guard.mu.Lock()
		s.guard.stuck--
		s.guard.mu.Unlock()
		if s.Instance != nil {
			s.Instance.Close()
		}
	}()
	err = Protect(s.use)
}
