package activity

import (
	"context"
	"fmt"
	"reflect"

	"github.com/perdure/perdure/internal/body"
	"github.com/perdure/perdure/retry"
)

// definition is what engines read of an Activity.
type definition = body.Definition

// Func is the body of an activity. The context carries Info, is canceled when
// the attempt times out or is no longer wanted, and when the process shuts down.
// A body should return soon after that; its result is then dropped or, if only
// a cancellation was asked for, kept if it is a success.
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

// Declare declares an activity without an implementation: for processes that
// only call it, and for implementations that are methods of a service, which
// Impl adds.
func Declare[In, Out any](name string, opts ...Option) Activity[In, Out] {
	d := body.Declared{Name: name, Input: reflect.TypeFor[In]()}
	body.Apply(&d.Options, opts)
	return Activity[In, Out]{definition: body.Define(d)}
}

// Impl returns the activity with an implementation, to be registered. The handle
// itself stays as it was, so that two engines in one process can have two.
func (a Activity[In, Out]) Impl(fn Func[In, Out]) Activity[In, Out] {
	d := *body.Of(a)
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
	a.definition = body.Define(d)
	return a
}

// Name returns the activity's name.
func (a Activity[In, Out]) Name() string { return body.NameOf(a.definition) }

// InputType returns the type In. A program that calls activities by name, such as a flow
// file, learns from it which fields the input has.
func (a Activity[In, Out]) InputType() reflect.Type { return reflect.TypeFor[In]() }

// Definition is an Activity, whatever its types.
type Definition interface {
	Name() string
	InputType() reflect.Type
	sealed
}

type sealed = body.Activity

// Option is a setting of an activity, for all calls (New, Declare) or for one call
// (workflow.Call): Retry, Through, Priority, Like.
type Option interface{ option }

type option = body.Option

// Retry sets the whole policy. A call without one has that of its activity, else that of
// the engine (perdure.Retry), else retry.Policy{}; policies do not mix.
func Retry(p retry.Policy) Option { return body.Set(func(o *body.Options) { o.Retry = &p }) }

// Like takes over all options of an activity. A program that calls activities by name
// calls Declare(d.Name(), Like(d)).
func Like(d Definition) Option {
	return body.Set(func(o *body.Options) { *o = body.Of(d).Options })
}
