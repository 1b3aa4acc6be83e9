package seal

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"

	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Workflow is a workflow.Workflow with any type parameters.
type Workflow interface {
	Holder[WorkflowDeclaration]
	Name() string
}

// WorkflowDeclaration holds what the declaration of a workflow says.
type WorkflowDeclaration struct {
	Name string
	// Version identifies the code among other code of the same name. If it is empty, the
	// build of the program does.
	Version string
	Retry   *retry.Policy // of failed runs, nil for none
	Input   reflect.Type
	Output  reflect.Type
	// Pinned says that a run stays on the build on which it began.
	Pinned bool
	// Harmless says that the code cannot end its process: it is an interpreter of this module,
	// and what it calls are activities.
	Harmless bool
	// Fault is what is wrong with an option, or nil.
	Fault error
	// Begin returns the instance of a run; nil without code.
	Begin func(*core.Run) Instance
}

// Validate returns what is wrong with the options.
func (d *WorkflowDeclaration) Validate() error {
	if d.Fault != nil {
		return d.Fault
	}
	if d.Retry != nil {
		if err := history.CheckRunPolicy(*d.Retry); err != nil {
			return fmt.Errorf("its retry policy is not usable: %w", err)
		}
	}
	return nil
}

// Body is the body of an attempt, ready to run.
type Body func(ctx context.Context) (history.Payload, error)

// Instance is the code of one run while it is in memory. Its methods, except Close and
// Body, are called by one goroutine at a time.
type Instance interface {
	// LogTo sets where workflow.Logger writes, before the code runs.
	LogTo(*slog.Logger)
	// Intercept sets the interceptors around the code's operations, before it runs; nil for
	// none.
	Intercept(*around.Chain)
	// Advance runs the code until all of it waits or it has ended. It returns a
	// *coro.PanicError if the code panicked.
	Advance() error
	// CancelComes says where in history the request to cancel the run stands.
	CancelComes(reason string)
	// Canceled tells the code that its run was asked to cancel.
	Canceled(reason string)
	// Accept makes the handler of an update begin with the next turn of the code. It
	// returns false if there is no handler.
	Accept(id, name string, input history.Payload) bool
	// Validate returns why an update is not accepted, or nil.
	Validate(name string, input history.Payload) error
	// Query asks the code of a run that waits or has ended.
	Query(name string, input history.Payload) (history.Payload, error)
	// Unread returns the calls that received a signal which the code has not read.
	Unread() []*core.Call
	// Body returns the body of an open inline step, or nil.
	Body(call int64) Body
	// Halt stops the code for good from inside one of its coroutines.
	Halt()
	// Close ends the code: it unwinds the coroutines, including deferred calls. The channel
	// is closed when all coroutines have ended.
	Close() <-chan struct{}
}
