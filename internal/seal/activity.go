package seal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Activity is an activity.Activity with any type parameters.
type Activity interface {
	Holder[ActivityDeclaration]
	Name() string
}

// ActivityDeclaration holds what the declaration of an activity says.
type ActivityDeclaration struct {
	Name    string
	Options ActivityOptions
	// Invoke runs the body on an input that decode fills in; nil without a body.
	Invoke func(ctx context.Context, decode func(into any) error) (any, error)
	// Refuse, if set, returns why attempts of a call may not run in this process, or "". The
	// call then waits for a process in which they may, as it does where the activity is not
	// registered. It must return immediately, and the same during the life of the process.
	Refuse func(Asked) string
	Input  reflect.Type
	Output reflect.Type
}

// Asked is a call that a process may refuse.
type Asked struct {
	WorkflowID string
	Headers    map[string]string    // of the run; not to be changed
	Decode     func(into any) error // the input
}

// ActivityOptions are the settings of an activity or of one of its calls. The zero value
// leaves everything to the engine.
type ActivityOptions struct {
	// Retry is the complete policy, nil to leave it to the next level. The levels are the
	// call, the activity, the engine, and retry.Policy{}. Policies of levels do not mix.
	Retry *retry.Policy

	// Gates are the gates that the attempts pass through. Priority orders the call among
	// those that wait at a gate or for a slot: higher goes first, and 0 means that of the
	// run.
	Gates    []*gate.Gate
	Priority int
	// Queue is the queue of the attempts, which run in processes that serve it; "" means
	// the process of the run.
	Queue string
	// Verify asks whether an attempt had its effect, nil for nobody to ask. SettleAfter is how
	// long its request may still be under way, and VerifyRetry the policy for questions.
	Verify      *Verify
	VerifyBy    *history.VerifyBy // instead of Verify: another activity
	SettleAfter time.Duration
	VerifyRetry *retry.Policy
	// Fault is what is wrong with an option, or nil.
	Fault error
}

// Validate returns everything that an engine would refuse.
func (o *ActivityOptions) Validate() error {
	errs := []error{o.Fault, o.ValidateGates(), o.ValidateVerify()}
	if o.Retry != nil {
		errs = append(errs, o.Retry.Validate())
	}
	return errors.Join(errs...)
}

// ValidateVerify returns what is wrong with the settings of questions.
func (o *ActivityOptions) ValidateVerify() error {
	asked := o.Verify != nil || o.VerifyBy != nil
	switch {
	case !asked && (o.SettleAfter != 0 || o.VerifyRetry != nil):
		return errors.New("activity.SettleAfter and activity.VerifyRetry are for questions, but there is no function to ask; declare one with activity.Verify")
	case !asked && o.Retry != nil && o.Retry.Verifies():
		return errors.New("OnUnknown is VerifyUnknown, but there is no function to ask; declare one with activity.Verify, or use RepeatUnknown, PauseUnknown or FailUnknown")
	case o.SettleAfter < 0:
		return fmt.Errorf("activity.SettleAfter is %s; allowed is zero or more", o.SettleAfter)
	case o.VerifyRetry != nil:
		return retry.CheckVerifyRetry(*o.VerifyRetry)
	}
	return nil
}

// VerifiedBy lets another activity say whether an attempt had its effect, by an input in JSON.
func VerifiedBy(activity string, input json.RawMessage) *history.VerifyBy {
	payload, err := history.Encode(input)
	if err != nil {
		panic(err) // it is JSON
	}
	return &history.VerifyBy{Activity: activity, Input: payload}
}

// Verify is the function of activity.Verify with any type parameters.
type Verify struct {
	// Ask is nil if the function is given later, with the implementation.
	Ask    func(ctx context.Context, decode func(into any) error, d retry.Doubt) (answer retry.Answer, result any, after time.Duration, err error)
	Input  reflect.Type
	Output reflect.Type
}

// ValidateGates returns everything that is wrong with the gates.
func (o *ActivityOptions) ValidateGates() error {
	var errs []error
	names := map[string]bool{}
	for _, g := range o.Gates {
		if g == nil {
			errs = append(errs, errors.New("one of the gates is nil; pass what gate.New returns"))
			continue
		}
		errs = append(errs, g.Validate())
		if names[g.Name()] {
			errs = append(errs, fmt.Errorf("two of the gates have the name %q; an attempt takes one slot of a gate", g.Name()))
		}
		names[g.Name()] = true
	}
	return errors.Join(errs...)
}
