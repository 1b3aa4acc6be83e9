package activity

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// Doubt describes an attempt that may have had its effect.
type Doubt = retry.Doubt

// Found is what a Verify function returns: retry.Done, retry.Absent or retry.AskAgain.
type Found[Out any] = retry.Found[Out]

// VerifyFunc finds out whether an attempt had its effect. The context is that of an attempt:
// Details returns the last heartbeat of the attempts before, IdempotencyKey the key of the
// call. It is canceled as the context of a body is.
type VerifyFunc[In, Out any] func(ctx context.Context, in In, d Doubt) (Found[Out], error)

// Verify declares how to find out whether an attempt had its effect, for work that must not
// be done twice and cannot be made idempotent. The policy's OnUnknown is then
// retry.VerifyUnknown unless it says otherwise: an attempt that was lost, timed out or failed
// with an error that retry.Unknown marks is asked about before anything else is decided, the
// last one too.
//
//	var Charge = activity.New("charge", charge, activity.Verify(
//		func(ctx context.Context, o Order, d activity.Doubt) (activity.Found[Receipt], error) {
//			switch receipt, err := bank.Find(ctx, o.ID); {
//			case err != nil:
//				return activity.Found[Receipt]{}, err // asked again, by VerifyRetry
//			case receipt == nil:
//				return retry.Absent[Receipt](), nil // the policy decides
//			default:
//				return retry.Done(*receipt), nil // the call completes, no attempt runs
//			}
//		}), activity.SettleAfter(30*time.Second))
//
// A question runs where attempts of the activity run, in a slot of its own, and passes no
// gates. It survives crashes, never counts for MaxAttempts, and is not bound by Within. If
// VerifyRetry gives up, the call is in doubt until a person decides; it is never repeated
// blindly. In and Out must be those of the activity. It cannot be an option of one call.
//
// With a nil function, the activity is declared to have one, which Activity.ImplVerify gives.
func Verify[In, Out any](f VerifyFunc[In, Out]) Option {
	v := verification(f)
	return seal.With(func(o *seal.ActivityOptions) { o.Verify = v })
}

// SettleAfter says how long a request of an attempt that has ended may still be under way: the
// first question waits for that long, counted from the end of the attempt; for one that was
// lost, from when it was found to be. Zero, the default, means no wait.
func SettleAfter(d time.Duration) Option {
	return seal.With(func(o *seal.ActivityOptions) { o.SettleAfter = d })
}

// VerifyRetry sets the policy for questions that fail or ask to be asked again. The default is
// five questions with backoff from one second. AttemptTimeout bounds each question; zero is
// one minute. Within bounds all of them, counted from when the first was due.
func VerifyRetry(p retry.Policy) Option {
	return seal.With(func(o *seal.ActivityOptions) { o.VerifyRetry = &p })
}

// ImplVerify returns a copy of the handle with a Verify function, such as a method of a
// service, as Impl does with the implementation. The activity must be declared with Verify.
func (a Activity[In, Out]) ImplVerify(f VerifyFunc[In, Out]) Activity[In, Out] {
	d := *seal.Of(a)
	if d.Options.Verify == nil {
		d.Options.Fault = fmt.Errorf("ImplVerify gives a function to an activity that is not declared to have one: declare it with activity.Verify[%s, %s](nil), so that its calls know", reflect.TypeFor[In](), reflect.TypeFor[Out]())
	}
	d.Options.Verify = verification(f)
	a.definition = seal.Hide(d)
	return a
}

func verification[In, Out any](f VerifyFunc[In, Out]) *seal.Verify {
	v := &seal.Verify{Input: reflect.TypeFor[In](), Output: reflect.TypeFor[Out]()}
	if f != nil {
		v.Ask = func(ctx context.Context, decode func(into any) error, d Doubt) (retry.Answer, any, time.Duration, error) {
			var in In
			if err := decode(&in); err != nil {
				return "", nil, 0, retry.Terminal(err)
			}
			found, err := f(ctx, in, d)
			answer, result, after := found.Answer()
			return answer, result, after, err
		}
	}
	return v
}
