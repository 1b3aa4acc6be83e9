package activity

import (
	"context"
	"fmt"
	"reflect"

	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// definition is what engines read of an Activity.
type definition = seal.Hidden[seal.ActivityDeclaration]

// Func is the body of an activity. The context carries Info. It is canceled when the
// attempt times out, is canceled or given up, or when the process shuts down. A body
// should return soon after that. Its result is then dropped, except that a success is
// kept if only a cancellation was requested.
type Func[In, Out any] func(ctx context.Context, in In) (Out, error)

// Activity is the typed handle of an activity. Make one per activity, at package
// level. It is immutable and safe for concurrent use.
type Activity[In, Out any] struct {
	definition
	_ [0]Func[In, Out] // an Activity of other types is another type
}

// New declares an activity together with its implementation. In and Out travel
// as JSON. Mistakes (an empty name, an invalid policy) are reported when the
// activity is registered.
func New[In, Out any](name string, fn Func[In, Out], opts ...Option) Activity[In, Out] {
	return Declare[In, Out](name, opts...).Impl(fn)
}

// Declare declares an activity without an implementation: for processes that only call
// it, and for implementations that Impl adds, such as methods of a service.
func Declare[In, Out any](name string, opts ...Option) Activity[In, Out] {
	d := seal.ActivityDeclaration{Name: name, Input: reflect.TypeFor[In](), Output: reflect.TypeFor[Out]()}
	if err := seal.Apply(&d.Options, opts); err != nil {
		d.Options.Fault = err
	}
	return Activity[In, Out]{definition: seal.Hide(d)}
}

// Impl returns a copy of the handle with an implementation, to be registered. Two engines
// in one process can have different ones.
func (a Activity[In, Out]) Impl(fn Func[In, Out]) Activity[In, Out] {
	d := *seal.Of(a)
	d.Invoke = nil
	if fn != nil {
		d.Invoke = func(ctx context.Context, decode func(into any) error) (any, error) {
			var in In
			if err := decode(&in); err != nil {
				return nil, retry.Terminal(fmt.Errorf("activity %q: %w", d.Name, err))
			}
			return fn(ctx, in)
		}
	}
	a.definition = seal.Hide(d)
	return a
}

// Name returns the activity's name.
func (a Activity[In, Out]) Name() string { return seal.Of(a).Name }

// InputType returns the type In. Programs that call activities by name, such as the
// interpreter of flow files, learn from it which fields the input has.
func (a Activity[In, Out]) InputType() reflect.Type { return reflect.TypeFor[In]() }

// Definition is an Activity of any types.
type Definition interface {
	Name() string
	InputType() reflect.Type
	sealed
}

type sealed = seal.Activity

// Option is an option of an activity, for all calls (New, Declare) or for one call
// (workflow.Call): Retry, Through, Priority, Queue, SettleAfter, VerifyRetry, Like, and for all
// calls Verify.
type Option interface{ option }

type option = seal.Option[seal.ActivityOptions]

// Retry sets the whole policy. A call without one has the policy of its activity, else
// that of the engine (perdure.Retry), else retry.Policy{}; policies are not merged.
func Retry(p retry.Policy) Option { return seal.With(func(o *seal.ActivityOptions) { o.Retry = &p }) }

// Like copies all options of an activity. A program that calls activities by name calls
// Declare(d.Name(), Like(d)).
func Like(d Definition) Option {
	return seal.With(func(o *seal.ActivityOptions) { *o = seal.Of(d).Options })
}
