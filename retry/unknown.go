package retry

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/mark"
)

// Unknown marks err as the end of an attempt that may have had its effect: the connection
// broke after the request was sent, say. Policy.OnUnknown says what follows. The marked error
// wraps err and has its text and type. Unknown(nil) is nil.
//
// Attempts that time out or are lost with their process have an unknown outcome without a
// mark. Any other error says that nothing was done.
func Unknown(err error) error { return outcome(err, true) }

// NotDone marks err as the end of an attempt that had no effect, and is known to have had
// none: the connection was refused, say. It may be repeated without asking, also if it then
// timed out. The marked error wraps err and has its text and type. NotDone(nil) is nil.
func NotDone(err error) error { return outcome(err, false) }

func outcome(err error, unknown bool) error {
	if err == nil {
		return nil
	}
	return &mark.Outcome{Err: err, Unknown: unknown}
}

// IsUnknown reports whether an attempt that failed with err may have had its effect: the
// outermost mark of Unknown or NotDone decides and, without one, whether err is a timeout of
// the attempt or of its heartbeats.
func IsUnknown(err error) bool { return Classify(err).Unknown }

// OnUnknown says what follows an attempt whose outcome is unknown: it was lost with its
// process, timed out, or failed with an error that Unknown marks.
type OnUnknown uint8

const (
	// RepeatUnknown makes the next attempt as after any other failure or loss: right for work
	// that may be done twice. It is the default without a Verify function.
	RepeatUnknown OnUnknown = iota + 1

	// VerifyUnknown asks the program first, by the function given to activity.Verify or Verify:
	// it was done, it was not, or that is still unknown. It is the default with such a function.
	VerifyUnknown

	// PauseUnknown keeps the call open until a person decides. It needs the durable engine; Do
	// refuses it.
	PauseUnknown

	// FailUnknown ends the call with an *UnknownError, so that its caller can find out.
	FailUnknown
)

var onUnknownNames = []string{"", "repeat", "verify", "pause", "fail"}

// String returns "repeat", "verify", "pause" or "fail", and "" for zero.
func (o OnUnknown) String() string { return enumName(onUnknownNames, o) }

// MarshalText writes the name that String gives; an unknown value is an error.
func (o OnUnknown) MarshalText() ([]byte, error) { return marshalEnum(onUnknownNames, o) }

// UnmarshalText reads "repeat", "verify", "pause" or "fail".
func (o *OnUnknown) UnmarshalText(text []byte) error { return unmarshalEnum(onUnknownNames, text, o) }

// AfterUnknown returns what follows a failure whose outcome is unknown: what the rule for its
// types says, else the policy, else RepeatUnknown. A lost attempt has the type WorkerLost.
func (p *Policy) AfterUnknown(types ...string) OnUnknown {
	if rule := p.match(types); rule != noRule && p.Rules[rule].OnUnknown != 0 {
		return p.Rules[rule].OnUnknown
	}
	return max(p.OnUnknown, RepeatUnknown)
}

// Verifies reports whether the policy or one of its rules is VerifyUnknown.
func (p *Policy) Verifies() bool { return p.onUnknown(VerifyUnknown) }

// Doubts reports whether the policy or one of its rules sets unknown outcomes apart from
// failures: by VerifyUnknown, PauseUnknown or FailUnknown.
func (p *Policy) Doubts() bool {
	return p.onUnknown(VerifyUnknown) || p.onUnknown(PauseUnknown) || p.onUnknown(FailUnknown)
}

// onUnknown reports whether the policy or one of its rules has this value.
func (p *Policy) onUnknown(v OnUnknown) bool {
	return p.OnUnknown == v || slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.OnUnknown == v })
}

// UnknownError is the error of a call that ended without knowing whether its last attempt had
// its effect. The fields are exported so that a codec can rebuild it.
type UnknownError struct {
	// Name is the name of the call, empty if it has none.
	Name string

	// Attempt is the number of the attempt, and ID its ID.
	Attempt int
	ID      string

	// Node is the process that ran it, empty if it is this one.
	Node string

	// Start and End are when the attempt began and ended. End is the zero time if that is not
	// known, because its process was lost.
	Start, End time.Time

	// Questions is how often the program was asked, without an answer.
	Questions int

	// Err is how the attempt ended: its failure, or a *WorkerLostError.
	Err error
}

// Error reads like "charge: attempt 2 may have had its effect: timeout: the attempt ran longer
// than 10s".
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("%s: attempt %d may have had its effect", nameOrCall(e.Name), e.Attempt)
	if e.Questions > 0 {
		text += fmt.Sprintf(", and %d questions had no answer", e.Questions)
	}
	return text + ": " + textOf(e.Err, "its outcome is unknown")
}

// ErrorType returns UnknownOutcome.
func (e *UnknownError) ErrorType() string { return TypeUnknown }

// Unwrap returns how the attempt ended.
func (e *UnknownError) Unwrap() error { return e.Err }

// errNoVerify is why a policy that verifies cannot be honored.
var errNoVerify = errors.New("OnUnknown is VerifyUnknown, but there is no Verify function to ask; declare one, or use RepeatUnknown, PauseUnknown or FailUnknown")
