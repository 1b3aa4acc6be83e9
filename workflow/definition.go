package workflow

import (
	"fmt"
	"reflect"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// definition is what engines read of a Workflow.
type definition = seal.Hidden[seal.WorkflowDeclaration]

// Func is the code of a workflow.
type Func[In, Out any] func(wf *Context, in In) (Out, error)

// Workflow is the typed handle of a workflow. Make one per workflow, at package
// level. It is immutable and safe for concurrent use.
type Workflow[In, Out any] struct {
	definition
	_ [0]Func[In, Out] // a Workflow of other types is another type
}

// New declares a workflow together with its code. In and Out travel as JSON.
// Mistakes (an empty name) are reported when the workflow is registered. Code
// that names its own variable does not compile in this form (an initialization
// cycle): use Declare and Impl.
func New[In, Out any](name string, fn Func[In, Out], opts ...Option) Workflow[In, Out] {
	return Declare[In, Out](name, opts...).Impl(fn)
}

// Declare declares a workflow without its code: for processes that only start it and wait
// for results, and for code that Impl adds.
func Declare[In, Out any](name string, opts ...Option) Workflow[In, Out] {
	d := seal.WorkflowDeclaration{Name: name, Input: reflect.TypeFor[In](), Output: reflect.TypeFor[Out]()}
	if err := seal.Apply(&d, opts); err != nil {
		d.Fault = err
	}
	return Workflow[In, Out]{definition: seal.Hide(d)}
}

// Impl returns a copy of the handle with the workflow's code, to be registered.
func (w Workflow[In, Out]) Impl(fn Func[In, Out]) Workflow[In, Out] {
	d := *seal.Of(w)
	d.Begin = nil
	if fn != nil {
		d.Begin = func(run *core.Run) seal.Instance { return begin(run, d.Name, fn) }
	}
	w.definition = seal.Hide(d)
	return w
}

// Name returns the workflow's name.
func (w Workflow[In, Out]) Name() string { return seal.Of(w).Name }

// begin makes the instance of a run.
func begin[In, Out any](run *core.Run, name string, fn Func[In, Out]) *instance {
	return newInstance(run, func(wf *Context) (history.Payload, error) {
		var in In
		if err := run.Began().Input.Decode(&in); err != nil {
			return history.Payload{}, retry.Terminal(fmt.Errorf("workflow %q: input: %w", name, err))
		}
		out, err := fn(wf, in)
		return encoded(out, err, func(err error) error { return fmt.Errorf("workflow %q: result: %w", name, err) })
	})
}

// encoded encodes what code has returned. If that cannot be encoded, its error is in the words of
// wrong.
func encoded[Out any](out Out, err error, wrong func(error) error) (history.Payload, error) {
	if err != nil {
		return history.Payload{}, err
	}
	p, err := history.Encode(out)
	if err != nil {
		return p, retry.Terminal(wrong(err))
	}
	return p, nil
}
