package activity

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// sealed makes an Activity a Definition.
type sealed = seal.Definition

// Func is the body of an activity. The context carries Info, is canceled when
// the attempt times out or is no longer wanted, and when the process shuts down.
// A body should return soon after that; its result is then dropped or, if only
// a cancellation was asked for, kept if it is a success.
type Func[In, Out any] func(ctx context.Context, in In) (Out, error)

// Activity is the typed handle of an activity. Make one per activity, at package
// level. It is immutable and safe for concurrent use.
type Activity[In, Out any] struct {
	sealed
	name    string
	fn      Func[In, Out] // nil if only declared
	options Options
}

// New declares an activity together with its implementation. In and Out travel
// as JSON. Mistakes (an empty name, an invalid policy) are reported when the
// activity is registered.
func New[In, Out any](name string, fn Func[In, Out], opts ...Option) Activity[In, Out] {
	a := Declare[In, Out](name, opts...)
	a.fn = fn
	return a
}

// Declare declares an activity without an implementation: for processes that
// only call it, and for implementations that are methods of a service, which
// Impl adds.
func Declare[In, Out any](name string, opts ...Option) Activity[In, Out] {
	a := Activity[In, Out]{name: name}
	for _, o := range opts {
		o(&a.options)
	}
	return a
}

// Impl returns the activity with an implementation, to be registered. The handle
// itself stays as it was, so that two engines in one process can have two.
func (a Activity[In, Out]) Impl(fn Func[In, Out]) Activity[In, Out] {
	a.fn = fn
	return a
}

// Name returns the activity's name.
func (a Activity[In, Out]) Name() string { return a.name }

// Options returns what the declaration said.
func (a Activity[In, Out]) Options() Options { return a.options }

// Implemented reports whether there is a body.
func (a Activity[In, Out]) Implemented() bool { return a.fn != nil }

// InputType returns the type In. Who calls activities by name, such as a flow file,
// learns from it which fields the input has.
func (a Activity[In, Out]) InputType() reflect.Type { return reflect.TypeFor[In]() }

// Invoke runs the body on an input that decode fills in. It is for engines.
func (a Activity[In, Out]) Invoke(ctx context.Context, decode func(into any) error) (any, error) {
	if a.fn == nil {
		return nil, retry.Terminal(fmt.Errorf("activity %q is declared but has no implementation", a.name))
	}
	var in In
	if err := decode(&in); err != nil {
		return nil, retry.Terminal(fmt.Errorf("activity %q: %w", a.name, err))
	}
	return a.fn(ctx, in)
}

// Definition is what an engine needs of an activity, whatever its types.
type Definition interface {
	seal.Sealed
	Name() string
	Options() Options
	Implemented() bool
	Invoke(ctx context.Context, decode func(into any) error) (any, error)
}

// Options are the settings of an activity or of one call of it. The zero value
// leaves everything to the engine.
type Options struct {
	// Retry is the whole policy, nil if the next level decides: the call, then
	// the activity, then the engine, then retry.Policy{}. Levels do not mix.
	Retry *retry.Policy

	// Gates are what the attempts pass through, and Priority is the place of the
	// call among those who wait there and for a slot: higher goes first, 0 is that of
	// the run.
	Gates    []*gate.Gate
	Priority int
}

// Option sets one of the Options, for all calls (New, Declare) or for one call
// (workflow.Call).
type Option func(*Options)

// Retry sets the policy.
func Retry(p retry.Policy) Option { return func(o *Options) { o.Retry = &p } }

// Validate reports what an engine would refuse, all at once.
func (o Options) Validate() error {
	errs := []error{o.ValidateGates()}
	if o.Retry != nil {
		errs = append(errs, ValidatePolicy(*o.Retry))
	}
	return errors.Join(errs...)
}

// ValidatePolicy reports what an engine would refuse of a policy. It honors all
// that is valid.
func ValidatePolicy(p retry.Policy) error { return p.Validate() }
