package engine

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// stuckError says that a turn of workflow code did not end.
type stuckError struct {
	after time.Duration
	stack string
}

func (e *stuckError) Error() string {
	return fmt.Sprintf("the workflow's code ran for %s without waiting for anything durable: it loops, or blocks on something that is not of package workflow", e.after)
}

var errGoexit = errors.New("the workflow's code called runtime.Goexit (a test's FailNow, perhaps)")

// stint is one use of workflow code under watch: a replay or a step. Guarded by
// the engine's mu.
type stint struct {
	progress atomic.Int64 // turns begun so far: each has its own time

	givenUp  bool
	admitted []lane // slots it was given; a step that is given up leaves them
}

// guard runs f, which runs workflow code, under watch: on a goroutine of its
// own, so that one that does not end in time can be left behind. Should it come
// back after all, its goroutine is not lost, and late is called on it.
func (e *Engine) guard(s *stint, f func() error, late func()) error {
	result, ok := e.results.Get().(chan error)
	if !ok {
		result = make(chan error, 1)
	}
	e.code.Run(func() {
		err := errGoexit
		defer func() {
			if e.cameBack(s, result, err) {
				late()
			}
		}()
		err = protected(f)
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
	stack := workflowStacks()
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case err := <-result: // just in time
		return err
	default:
	}
	s.givenUp = true
	for _, l := range s.admitted {
		e.slots.release(e, l)
	}
	e.abandon()
	return &stuckError{after: e.config.TurnTimeout, stack: stack}
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

// workflowStacks returns the stacks of the goroutines that run workflow code
// right now, at most 16 KiB.
func workflowStacks() string {
	const limit = 16 << 10
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	var found []byte
	for _, g := range bytes.Split(all, []byte("\n\n")) {
		header, _, _ := bytes.Cut(g, []byte("\n"))
		parked := bytes.Contains(header, []byte("[coroutine"))
		if !parked && bytes.Contains(g, []byte("coro.(*Coroutine).body")) {
			found = append(append(found, g...), "\n\n"...)
		}
	}
	return string(found[:min(len(found), limit)])
}

// damageError is a panic of the engine's own code over one run or gate: what is on
// record of it is not what this version would write. It concerns nobody else.
type damageError struct {
	value any
	stack []byte
}

func (e *damageError) Error() string {
	return fmt.Sprintf("what is on record cannot be worked with: panic: %v", e.value)
}

// protected calls f and makes a panic its error.
func protected(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &damageError{v, debug.Stack()}
		}
	}()
	return f()
}
