package eval

import (
	"time"

	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/retry"
)

// Effects is what a program can ask of the world. All methods are called from the
// goroutine, or coroutine, that evaluates; they may block.
type Effects interface {
	// Act runs an action by its policy and returns its result, or its last error.
	Act(a Action) (Value, error)

	// ActAll runs actions at the same time and returns all outcomes in their order,
	// when all have ended.
	ActAll(all []Action) []Outcome

	// Each calls do for 0 to n-1 at the same time, with effects that belong to that
	// call, and returns when all calls have.
	Each(n int, do func(i int, in Effects))

	// Retry calls do until it succeeds, by a policy, with effects that belong to the
	// call, and returns what became of the last one.
	Retry(policy retry.Policy, do func(in Effects) error) error

	// Receive waits for a signal, for so long at most if that is above zero.
	Receive(signal string, timeout time.Duration) (Value, error)

	// Watch lets others ask for the variables of the program while it waits.
	Watch(variables func() *Dict)

	// Sleep waits. Its error says that the run was canceled.
	Sleep(d time.Duration) error

	// Uncanceled are effects that a cancellation of the run does not reach: for the
	// block of an except that names Canceled.
	Uncanceled() Effects

	// Turn changes whenever the program had to wait for something: it begins a new
	// budget of steps.
	Turn() int64

	// History returns how many events the run has on record, and with how many of them
	// the program is to stop at the next statement at which it can; most is 0 if it
	// never is.
	History() (events, most int)

	// Offset returns how many seconds the clocks of a time zone are ahead of UTC at a
	// time, and whether there is such a zone. It is on record, because zones change.
	Offset(zone string, at time.Time) (seconds int, known bool)

	// Instant returns the moment at which the clocks of a known zone show a time, which
	// is given in seconds since 1970 as if it were in UTC. It is on record, too.
	Instant(zone string, wall int64) time.Time

	// ZoneName returns what a known zone is called at a time, such as CEST. It is on
	// record, too.
	ZoneName(zone string, at time.Time) string

	// Now, UUID and Random are the durable builtins of these names.
	Now() time.Time
	UUID() string
	Random() float64
}

// Action is an action that a program wants to be run.
type Action struct {
	Name   string
	Args   *Dict
	Policy retry.Policy // retry.Never if the program gives none
	Gates  []*syntax.Gate
	Verify *Action // says whether an attempt had its effect; nil for nothing
}

// Outcome is how an action ended.
type Outcome struct {
	Value Value
	Err   error
}
