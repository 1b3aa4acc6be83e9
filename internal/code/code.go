package code

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// Workflow is a workflow.Workflow of any types.
type Workflow interface {
	seal.Declares[Declared]
	Name() string
}

// Definition is the part of a workflow.Workflow that engines read.
type Definition = seal.Definition[Declared]

// Declared is what a declaration says.
type Declared struct {
	Name string
	// Version tells this code from other code of the same name; empty for none, and
	// then the build of the program does.
	Version string
	Retry   *retry.Policy // of failed runs, nil for none
	// Pinned says that a run stays on the build on which it began.
	Pinned bool
	// Begin makes the instance of a run; nil without code.
	Begin func(*core.Run) Instance
}

// Define returns the definition of a declaration.
func Define(d Declared) Definition { return seal.Define(d) }

// Of returns what the declaration of a workflow says. It must not be changed.
func Of(w Workflow) *Declared { return seal.Of[Declared](w) }

// Validate says what is wrong with the options.
func (d *Declared) Validate() error {
	if d.Retry != nil {
		if err := history.CheckRunPolicy(*d.Retry); err != nil {
			return fmt.Errorf("its retry policy is not usable: %w", err)
		}
	}
	return nil
}

// Body is the body of an attempt, ready to run.
type Body func(ctx context.Context) (history.Payload, error)

// Instance is the code of one run while it is in memory. Its methods, Close and Body
// excepted, are called by one goroutine at a time.
type Instance interface {
	// LogTo sets what workflow.Logger writes to, before the code runs.
	LogTo(*slog.Logger)
	// Intercept sets the interceptors around what the code does, before it runs; nil for
	// none.
	Intercept(*around.Chain)
	// Advance lets the code go on until all of it waits or it has ended. It returns a
	// *coro.PanicError if the code panicked.
	Advance() error
	// Canceled tells the code that its run was asked to cancel.
	Canceled(reason string)
	// Accept lets the handler of an update begin with the next turn of the code, false
	// if there is none.
	Accept(id, name string, input history.Payload) bool
	// Validate says why an update is not accepted.
	Validate(name string, input history.Payload) error
	// Query asks the code of a run that waits or has ended.
	Query(name string, input history.Payload) (history.Payload, error)
	// Unread returns the receptions whose signals came and that the code has not read.
	Unread() []*core.Call
	// Body returns the body of an open inline step, nil if there is none.
	Body(call int64) Body
	// Halt stops the code for good from inside one of its coroutines.
	Halt()
	// Close ends the code: its coroutines are unwound, deferred calls included. The
	// channel is closed when all are gone.
	Close() <-chan struct{}
}
