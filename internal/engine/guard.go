package engine

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/seal"
)

// stint is one use of workflow code under a time limit: a replay, a step or a query.
type stint struct {
	engine   *Engine
	instance seal.Instance // whose code runs; nil without code
	progress atomic.Int64  // turns begun so far; each has its own time limit
	use      func() error  // runs the code
	work     func()        // calls run; allocated once
	result   chan error    // capacity 1
	timer    *time.Timer   // limits the current turn
	decided  atomic.Bool   // the code has returned or was given up, whichever came first
}

func (s *stint) init(e *Engine) {
	s.engine, s.result = e, make(chan error, 1)
	s.work = s.run
	s.timer = time.NewTimer(e.config.TurnTimeout)
}

// guard runs f, which runs workflow code, on its own goroutine, so that code that exceeds the
// time limit can be abandoned. If abandoned code does return, its goroutine ends and closes
// the instance. If guard returns a *replay.StuckError, the code may still be running. While
// Stop waits no longer, code has a second; if it exceeds that, the error is also ErrStopped.
func (e *Engine) guard(s *stint, f func() error) error {
	s.use = f
	s.decided.Store(false)
	e.code.Run(s.work)
	limit, hurry := e.config.TurnTimeout, e.hurry.Done()
	s.timer.Reset(limit)
	defer s.timer.Stop()
	for seen := int64(-1); seen != s.progress.Load(); s.timer.Reset(limit) {
		seen = s.progress.Load()
		select {
		case err := <-s.result:
			return err
		case <-hurry:
			limit, hurry, seen = min(limit, stopGrace), nil, -1
		case <-s.timer.C:
		}
	}
	stack := replay.Stacks()
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.decided.Swap(true) { // it returned just in time
		return <-s.result
	}
	e.abandon()
	stuck := &replay.StuckError{After: limit, Stack: stack}
	if limit < e.config.TurnTimeout {
		return fmt.Errorf("%w; %w", ErrStopped, stuck)
	}
	return stuck
}

// run runs the code and delivers its result, unless the code was given up before.
func (s *stint) run() {
	err := replay.ErrGoexit
	defer func() {
		if !s.decided.Swap(true) {
			s.result <- err
			return
		}
		e := s.engine
		e.mu.Lock()
		e.health.stuckTurns--
		e.mu.Unlock()
		endInstance(s.instance, nil)
	}()
	err = replay.Protect(s.use)
}

// borrowTimer returns a running timer. Timers are pooled because each start of a run needs
// one.
func (e *Engine) borrowTimer(d time.Duration) *time.Timer {
	t, ok := e.timers.Get().(*time.Timer)
	if !ok {
		return time.NewTimer(d)
	}
	t.Reset(d)
	return t
}

func (e *Engine) returnTimer(t *time.Timer) {
	t.Stop()
	e.timers.Put(t)
}
