package engine

import (
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/code"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/replay"
)

// stint is one use of workflow code under watch: a replay or a step. Guarded by
// the engine's mu.
type stint struct {
	instance code.Instance // whose code it is, nil without code
	progress atomic.Int64  // turns begun so far: each has its own time

	givenUp  bool
	run      *activeRun // whose step it is
	admitted []int64    // its calls that were given a slot; a step that is given up leaves them
	out      *core.Turn // what it made, if it was not given up
}

// guard runs f, which runs workflow code, under watch: on a goroutine of its
// own, so that one that does not end in time can be left behind. Should it come
// back after all, its goroutine is not lost, and its instance is closed there.
func (e *Engine) guard(s *stint, f func() error) error {
	result, ok := e.results.Get().(chan error)
	if !ok {
		result = make(chan error, 1)
	}
	e.code.Run(func() {
		err := replay.ErrGoexit
		defer func() {
			if e.cameBack(s, result, err) {
				endInstance(s.instance, nil)
			}
		}()
		err = replay.Protect(f)
	})
	timer := e.borrowTimer(e.config.TurnTimeout)
	defer e.returnTimer(timer)
	for seen := int64(-1); seen != s.progress.Load(); timer.Reset(e.config.TurnTimeout) {
		seen = s.progress.Load()
		select {
		case err := <-result:
			e.results.Put(result)
			return err
		case <-timer.C:
		}
	}
	stack := replay.Stacks()
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case err := <-result: // just in time
		return err
	default:
	}
	s.givenUp = true
	for _, call := range s.admitted {
		e.grant(s.run.freeSlot(call))
	}
	e.abandon()
	return &replay.StuckError{After: e.config.TurnTimeout, Stack: stack}
}

// borrowTimer starts a timer; one is needed for each turn, so they are kept.
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

// cameBack hands over the result of a stint, unless it was given up before.
func (e *Engine) cameBack(s *stint, result chan<- error, err error) (late bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.givenUp {
		e.health.stuckTurns--
		return true
	}
	result <- err
	return false
}
