package perduretest

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/faulty"
)

// Fault is what happens at one write to the database (Env.At, EveryWrite), or to an
// attempt of an activity or step (Env.Inject). Some faults exist for one of the two only
// and are refused for the other.
type Fault struct {
	write   faulty.Fault // zero: none of writes
	attempt mishap       // zero: none of attempts
}

// The faults that need no argument.
var (
	// CrashBefore ends the process before the write is done; before the body of the
	// attempt runs.
	CrashBefore = Fault{faulty.CrashBefore, mishap{kind: crashBefore}}
	// CrashAfter ends the process when the write is done and not yet answered; when
	// the body of the attempt has returned and the engine does not know yet.
	CrashAfter = Fault{faulty.CrashAfter, mishap{kind: crashAfter}}
	// FailBefore returns that the database is not available, and does not write. For
	// attempts use Fail.
	FailBefore = Fault{write: faulty.FailBefore}
	// FailAfter writes and returns that the database is not available: the answer is
	// lost. For attempts use LoseAnswer.
	FailAfter = Fault{write: faulty.FailAfter}
	// Hang keeps the attempt until its context ends, without running its body.
	Hang = Fault{attempt: mishap{kind: hang}}
)

// Slow delays the write, or the attempt, by that much virtual time. The body of an
// attempt begins after the delay, unless its context ends before.
func Slow(delay time.Duration) Fault {
	return Fault{faulty.Slow(delay), mishap{kind: slow, delay: delay}}
}

// Outage makes the database unavailable for that much virtual time, from this write on.
func Outage(length time.Duration) Fault { return Fault{write: faulty.CutOff(length)} }

// Fail makes the attempt fail with an error without running its body. The error can be
// any that a body returns, such as retry.Terminal(err), or retry.After(err, d) for a
// server that asks for a delay.
func Fail(err error) Fault { return Fault{attempt: mishap{kind: fail, err: err}} }

// LoseAnswer runs the body of the attempt and then makes the attempt fail with an error,
// as if the answer to a request were lost: the effects of the body remain. If the client that the
// body uses marks such errors with retry.Unknown, mark err as well.
func LoseAnswer(err error) Fault { return Fault{attempt: mishap{kind: loseAnswer, err: err}} }

// Panic makes the attempt panic with a value instead of running its body.
func Panic(value any) Fault { return Fault{attempt: mishap{kind: panics, err: panicValue{value}}} }

// String describes the fault, such as "crashes before".
func (f Fault) String() string {
	if f.write != (faulty.Fault{}) {
		return f.write.String()
	}
	return f.attempt.String()
}

// mishap is what happens to an attempt.
type mishap struct {
	kind  mishapKind
	delay time.Duration
	err   error
}

type mishapKind int

const (
	crashBefore mishapKind = iota + 1
	crashAfter
	hang
	slow
	fail
	loseAnswer
	panics
)

// panicValue carries the value of a Panic.
type panicValue struct{ value any }

func (v panicValue) Error() string { return fmt.Sprint(v.value) }

func (m mishap) String() string {
	switch m.kind {
	case crashBefore:
		return "crashes before"
	case crashAfter:
		return "crashes after"
	case hang:
		return "hangs"
	case slow:
		return fmt.Sprintf("is slow by %s", m.delay)
	case fail:
		return fmt.Sprintf("fails with %q", fmt.Sprint(m.err))
	case loseAnswer:
		return fmt.Sprintf("loses its answer and fails with %q", fmt.Sprint(m.err))
	case panics:
		return fmt.Sprintf("panics with %v", m.err)
	}
	return "no fault"
}
