package retry

import (
	"context"

	"github.com/perdure/perdure/internal/attemptkey"
)

// AttemptInfo says which attempt of which call is running. It is plain data.
type AttemptInfo struct {
	// TraceID is the same for all attempts of a call and of no other call.
	TraceID string

	// ID is unique for the attempt: "TRACE.N". It is never reused, not
	// even when a later attempt runs in another process.
	ID string

	// Number counts from 1.
	Number int

	// Max is the largest number of attempts that the policy allows; Unlimited
	// if it has none. A rule for an error type, Within or a budget may end the
	// call earlier.
	Max int

	// Final says that no attempt follows this one, whatever its outcome.
	Final bool
}

// carrier is what a context holds under attemptkey.Key. The contexts of activities are
// carriers, too.
type carrier interface {
	RetryAttempt() AttemptInfo
	RetryBeat() // the attempt is alive
}

// FromContext returns the attempt that the context belongs to. Inside an
// activity of the durable engine it is the activity's attempt.
//
// The first attempt of a Do without options and timeouts runs in the caller's own
// context, because deriving one would cost more than the rest of the call. There
// FromContext returns what it returns to the caller: false or, within an attempt of
// another call, that attempt. With WithTrace every attempt has its own context.
func FromContext(ctx context.Context) (AttemptInfo, bool) {
	if c, ok := ctx.Value(attemptkey.Key{}).(carrier); ok {
		return c.RetryAttempt(), true
	}
	return AttemptInfo{}, false
}

// NewContext returns a child of ctx for which FromContext returns info and
// Heartbeat calls beat, which may be nil. It is for runners other than Do.
func NewContext(ctx context.Context, info AttemptInfo, beat func()) context.Context {
	return &foreign{ctx, info, beat}
}

// foreign is the context and the carrier of an attempt that another runner than Do runs.
type foreign struct {
	context.Context // the parent
	info            AttemptInfo
	beat            func()
}

// Value implements context.Context.
func (f *foreign) Value(key any) any {
	if key == (attemptkey.Key{}) {
		return f
	}
	return f.Context.Value(key)
}

// RetryAttempt implements carrier.
func (f *foreign) RetryAttempt() AttemptInfo { return f.info }

// RetryBeat implements carrier.
func (f *foreign) RetryBeat() {
	if f.beat != nil {
		f.beat()
	}
}
