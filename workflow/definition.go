package workflow

import (
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// sealed makes a Workflow a Definition.
type sealed = seal.Definition

// Func is the code of a workflow.
type Func[In, Out any] func(wf *Context, in In) (Out, error)

// Workflow is the typed handle of a workflow. Make one per workflow, at package
// level. It is immutable and safe for concurrent use.
type Workflow[In, Out any] struct {
	sealed
	name    string
	fn      Func[In, Out] // nil if only declared
	version string
	retry   *retry.Policy // of its runs, nil for none
}

// New declares a workflow together with its code. In and Out travel as JSON.
// Mistakes (an empty name) are reported when the workflow is registered. Code
// that names its own variable does not compile in this form (an initialization
// cycle): use Declare and Impl.
func New[In, Out any](name string, fn Func[In, Out], opts ...Option) Workflow[In, Out] {
	w := Declare[In, Out](name, opts...)
	w.fn = fn
	return w
}

// Declare declares a workflow without its code: for processes that only start
// it and ask for results, and for code that Impl adds.
func Declare[In, Out any](name string, opts ...Option) Workflow[In, Out] {
	w := Workflow[In, Out]{name: name}
	var o options
	for _, opt := range opts {
		opt.define(&o)
	}
	w.version, w.retry = o.version, o.retry
	return w
}

// Impl returns the workflow with its code, to be registered. The handle itself
// stays as it was.
func (w Workflow[In, Out]) Impl(fn Func[In, Out]) Workflow[In, Out] {
	w.fn = fn
	return w
}

// Name returns the workflow's name.
func (w Workflow[In, Out]) Name() string { return w.name }

// Implemented reports whether there is code.
func (w Workflow[In, Out]) Implemented() bool { return w.fn != nil }

// Fingerprint tells this code from other code of the same name, if Version was
// declared; else it is empty and the engine takes the build of the program.
func (w Workflow[In, Out]) Fingerprint() string { return w.version }

// Definition is what an engine needs of a workflow, whatever its types.
type Definition interface {
	seal.Sealed
	Name() string
	Implemented() bool
	Fingerprint() string
	Validate() error
	Retries() *retry.Policy
	Begin(run *core.Run) *Instance
}

// Validate answers what is wrong with the workflow's options, or nil.
func (w Workflow[In, Out]) Validate() error {
	if w.retry != nil {
		if err := history.CheckRunPolicy(*w.retry); err != nil {
			return fmt.Errorf("its retry policy is not usable: %w", err)
		}
	}
	return nil
}

// Retries returns the policy for failures of its runs, nil for none.
func (w Workflow[In, Out]) Retries() *retry.Policy { return w.retry }

// Begin makes the instance of a run. It is for engines.
func (w Workflow[In, Out]) Begin(run *core.Run) *Instance {
	return newInstance(run, func(wf *Context) (history.Payload, error) {
		var in In
		if err := run.Start().Input.Decode(&in); err != nil {
			return history.Payload{}, retry.Terminal(fmt.Errorf("workflow %q: input: %w", w.name, err))
		}
		out, err := w.fn(wf, in)
		if err != nil {
			return history.Payload{}, err
		}
		result, err := history.Encode(out)
		if err != nil {
			return history.Payload{}, retry.Terminal(fmt.Errorf("workflow %q: result: %w", w.name, err))
		}
		return result, nil
	})
}
