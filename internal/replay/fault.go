package replay

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/internal/see"
)

// StuckError reports that a turn of workflow code did not end.
type StuckError struct {
	After time.Duration // the limit
	Stack string        // of the goroutines that run workflow code
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("the workflow's code ran for %s without waiting for anything durable: it loops, or blocks on something that is not of package workflow %s", e.After, see.CodeRules)
}

// ErrGoexit reports that workflow code ended its goroutine.
var ErrGoexit = coro.ErrGoexit

// DamageError is a panic of perdure's own code over the record of one run, gate or schedule,
// which is not what this version would write. Others are not affected.
type DamageError struct {
	Value any
	Stack []byte
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("what is on record cannot be worked with: panic: %v", e.Value)
}

// Protect calls f and returns its error, or a panic as a *DamageError.
func Protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &DamageError{v, debug.Stack()}
		}
	}()
	return f()
}

// Stacks returns the stacks of the goroutines that run workflow code now, at most 16 KiB.
func Stacks() string {
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
