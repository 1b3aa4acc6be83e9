package activity

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/attemptkey"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// Info describes the attempt that a body runs in.
type Info struct {
	WorkflowID string
	RunID      string
	Workflow   string // name of the workflow
	Activity   string // name of the activity or inline step

	CallID    string // the same for all attempts of this call, and unique to it
	AttemptID string // globally unique, never reused
	Trace     string // trace parent of the call, empty if there is none

	// Headers are those of the run: see package intercept. They must not be changed.
	Headers map[string]string

	// Question is zero in an attempt. In a question about one (see Verify) it says which it is,
	// from 1; AttemptID, Attempt, Started and Deadline are then those of the question.
	Question int

	Attempt int  // from 1; attempts lost to a crash count
	Max     int  // executions that the policy and its rules allow at most; retry.Unlimited without an end
	Allowed int  // those that the rule for the latest failure allows; Max before the first failure
	Final   bool // no attempt follows if this one fails

	Scheduled time.Time // when the call was scheduled, engine time
	Started   time.Time // when this attempt was started, engine time
	Deadline  time.Time // when its AttemptTimeout ends, engine time; zero without one
}

// Progress says which attempt this is, and of how many: "attempt 2 of 5", or
// "attempt 2, unlimited". The number is Allowed, so a failure of another type may change
// it. An attempt beyond it, such as one that an operator started or one that follows lost
// ones, is "attempt 6 (5 allowed)".
func (i Info) Progress() string {
	switch {
	case i.Allowed >= retry.Unlimited:
		return fmt.Sprintf("attempt %d, unlimited", i.Attempt)
	case i.Allowed == 0: // an Info that a test made
		return fmt.Sprintf("attempt %d", i.Attempt)
	case i.Attempt > i.Allowed: // lost ones are not charged, and ops.RetryNow asks no policy
		return fmt.Sprintf("attempt %d (%d allowed)", i.Attempt, i.Allowed)
	}
	return fmt.Sprintf("attempt %d of %d", i.Attempt, i.Allowed)
}

// attempt is the context of a body, and what that carries. For package retry it is an attempt,
// too.
type attempt struct {
	context.Context // the parent
	info            Info
	seal.Attempt
}

// Value implements context.Context.
func (a *attempt) Value(key any) any {
	if key == (seal.AttemptKey{}) || key == (attemptkey.Key{}) {
		return a
	}
	if a.Values != nil {
		if v := a.Values.Value(key); v != nil {
			return v
		}
	}
	return a.Context.Value(key)
}

// RetryAttempt is what retry.FromContext returns.
func (a *attempt) RetryAttempt() retry.AttemptInfo {
	return retry.AttemptInfo{
		TraceID: a.info.CallID, ID: a.info.AttemptID, Number: a.info.Attempt, Max: a.info.Max, Final: a.info.Final,
	}
}

// RetryBeat is what retry.Heartbeat does.
func (a *attempt) RetryBeat() {
	if a.Link != nil {
		a.Link.Alive()
	}
}

func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(seal.AttemptKey{}).(*attempt)
	return a
}

// NewContext returns a context that carries info, like the one that an engine passes to a
// body; retry.FromContext finds the attempt, too. It is for tests of bodies.
func NewContext(ctx context.Context, info Info) context.Context {
	return &attempt{Context: ctx, info: info}
}

// FromContext returns the info of the attempt that runs in ctx, and false
// outside an activity or step.
func FromContext(ctx context.Context) (Info, bool) {
	if a := attemptOf(ctx); a != nil {
		return a.info, true
	}
	return Info{}, false
}

// IdempotencyKey returns a key that is the same for all attempts of one call and
// different for any two calls. Send it with a request, so that the receiver recognizes a
// repeated one. Outside an activity or step it is empty.
func IdempotencyKey(ctx context.Context) string {
	if a := attemptOf(ctx); a != nil {
		return a.info.CallID
	}
	return ""
}
