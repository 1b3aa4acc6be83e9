package workflow

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/retry"
)

// Context gives workflow code access to everything durable. It belongs to one coroutine
// of one run. It is not a context.Context and cannot be passed to I/O.
type Context struct {
	instance *instance
	co       *coro.Coroutine
	scope    *scope
	update   *updateUnderWay // whose handler the coroutine is part of, nil for none
	line     *line
	frame    *frame // the innermost one to which it belongs, nil for none
	outer    bool   // it is meant to be used in frames to which it does not belong
}

var errMisuse = errors.New("a workflow context was used outside of its coroutine: " +
	"inside an inline step, the function of a SideEffect, the handler of a query, the validator of an update, an activity, a goroutine, or another coroutine than the one it was made for; " +
	"hand values into steps and return values from them, and use the context that Go and Map pass to your function")

// enter makes sure that the verb runs where it may. Misuse panics with an error
// that no retry repeats.
func (wf *Context) enter() {
	if wf == nil || wf.co == nil || !wf.co.Running() || wf.instance.recording {
		panic(retry.Terminal(errMisuse))
	}
	wf.instance.current = wf.co
}

// enter makes sure that a coroutine of the run runs, whichever it is.
func (i *instance) enter() {
	if i.current == nil || !i.current.Running() || i.recording {
		panic(retry.Terminal(errMisuse))
	}
}

// with returns the same coroutine's context in another scope.
func (wf *Context) with(s *scope) *Context {
	own := *wf
	own.scope = s
	return &own
}

// Err returns nil until the context's scope is canceled, and then the reason.
func (wf *Context) Err() error {
	wf.enter()
	wf.scope.expireOverdue(wf.instance.run)
	return wf.scope.err
}

// over reports whether nothing more begins in the context's scope.
func (wf *Context) over() bool {
	wf.belongs()
	wf.scope.expireOverdue(wf.instance.run)
	return wf.scope.err != nil
}

// park waits until something wakes the coroutine.
func (wf *Context) park() {
	wf.co.Park()
	wf.instance.current = wf.co // others ran meanwhile
}

// Info describes the run that the code belongs to.
type Info struct {
	WorkflowID string
	RunID      string
	Workflow   string // name
	Attempt    int    // of the chain's retry, from 1
	Trace      string // trace parent given at the start
	// Headers are those of the run: see package intercept. They must not be changed.
	Headers map[string]string
	Started time.Time
	// HistoryLength is how many events the run had on record before this turn of its
	// code. A run whose history reaches the engine's limit fails (see
	// perdure.MaxHistory); a run that may grow so long should continue as new before.
	HistoryLength int
	// RunDeadline and ChainDeadline are when the run, if it is still open, is closed as
	// timed out; zero means never. See RunTimeout and ChainTimeout.
	RunDeadline   time.Time
	ChainDeadline time.Time

	// Schedule and Nominal are the name of the schedule that started the chain and the
	// nominal time of the fire. They are the same in all runs of the chain, and empty and
	// zero if no schedule started it.
	Schedule string
	Nominal  time.Time
}

// GetInfo returns information about the run.
func GetInfo(wf *Context) Info {
	wf.enter()
	s := wf.instance.run.Self()
	info := Info{
		WorkflowID: s.WorkflowID, RunID: s.Run, Workflow: s.Type, Attempt: s.Attempt,
		Trace: s.Trace, Headers: s.Headers, Started: time.Unix(0, s.Created).UTC(),
		HistoryLength: wf.instance.run.Length(),
		RunDeadline:   deadline(core.RunDeadline(&s)), ChainDeadline: deadline(s.ChainDeadline),
	}
	if fire := s.Scheduled; fire != nil {
		info.Schedule, info.Nominal = fire.Schedule, time.Unix(0, fire.Nominal).UTC()
	}
	return info
}

// deadline is a time of the machine in Go's words.
func deadline(at int64) time.Time {
	if at == 0 || at == core.Never {
		return time.Time{}
	}
	return time.Unix(0, at).UTC()
}
