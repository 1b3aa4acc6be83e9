package engine

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
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

// guard runs f, which runs workflow code, under watch: on a goroutine of its
// own, so that one that never ends can be left behind.
func (e *Engine) guard(f func() error) error {
	result := make(chan error, 1)
	e.code.run(func() {
		err := errGoexit
		defer func() { result <- err }()
		err = f()
	})
	timer := time.NewTimer(e.config.TurnTimeout)
	defer timer.Stop()
	select {
	case err := <-result:
		return err
	case <-timer.C:
	}
	e.mu.Lock()
	e.health.stuckTurns++
	e.mu.Unlock()
	return &stuckError{after: e.config.TurnTimeout, stack: workflowStacks()}
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
