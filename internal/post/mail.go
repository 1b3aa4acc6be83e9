package post

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
)

// A request is durable from the moment at which the database took it, whether a process serves
// its run then or not. Two things make sure that what comes due later comes later: a run hears
// what the inbox has before it takes a turn in which something comes due, or its first turn
// since its partition was taken; and its machine takes the mail and what is due in the order
// of their moments (see package core).

// Mail is an input for a run, a gate or a schedule, with the inbox message that carried it, if
// any.
type Mail struct {
	Input       core.Input // nil: the message only says that the run exists, or is void
	Sequence    int64      // of the message; 0 if there is none
	At          int64      // its moment: see Sort
	Latest      string     // workflow ID whose latest run gets the mail; "" if the mail is for one run
	Transaction *attempt.Transaction
	Unread      *UnreadEnd // set if the result of an attempt cannot be read; Input is a placeholder then
}

// UnreadEnd reports that the end of an attempt cannot be read: its key or its blob is missing
// here, or its bytes were changed. It wraps no error, because the record of the run is intact
// whatever is wrong with the message.
type UnreadEnd struct {
	core.AttemptRef
	Cause error
}

func (u *UnreadEnd) Error() string {
	what := "of an attempt"
	if u.Call != 0 {
		what = fmt.Sprintf("of attempt %d of call %d", u.Attempt, u.Call)
	}
	return fmt.Sprintf("the end %s is on record and cannot be read: %v; start the program again when it can be read, or terminate or reset the run", what, u.Cause)
}

// Sort sorts mail by moment. Messages of the inbox keep the order of their numbers, whatever
// the clock of the database showed. A claim comes first: decisions about its call must know that
// the attempt is running. That a worker is gone comes last: an answer to its attempt that has
// arrived meanwhile counts.
func Sort(all []Mail) {
	if len(all) < 2 {
		return
	}
	latest := int64(0)
	for i := range all {
		if m := &all[i]; m.Sequence != 0 && !m.isClaim() {
			latest = max(latest, m.At)
			m.At = latest
		}
	}
	slices.SortStableFunc(all, func(a, b Mail) int { return cmp.Or(cmp.Compare(a.last(), b.last()), cmp.Compare(a.At, b.At)) })
}

// last is 1 for what comes after everything else, else 0.
func (m *Mail) last() int {
	if _, is := m.Input.(core.WorkerGone); is {
		return 1
	}
	return 0
}

func (m *Mail) isClaim() bool {
	_, is := m.Input.(core.Claimed)
	return is
}

// Timed returns the input with its moment.
func (m *Mail) Timed() core.Input {
	switch m.Input.(type) {
	case nil, core.AttemptEnded, core.Heartbeat, core.Claimed:
		return m.Input
	}
	if m.Sequence == 0 {
		return m.Input
	}
	return core.Timed{Input: m.Input, At: m.At}
}

// Stamp gives mail that did not come by the inbox its moment; now is engine time.
func (m *Mail) Stamp(now func() int64) {
	if m.At != 0 || m.isClaim() {
		return
	}
	switch in := m.Input.(type) {
	case core.AttemptEnded:
		m.At = in.Ended
	case core.Heartbeat:
		m.At = in.At
	default:
		m.At = now()
	}
}

// Rest says of mail that waits for a later turn when it came, and which attempts have ended by it.
func Rest(all []Mail) (more core.More) {
	for i := range all {
		m := &all[i]
		if m.At != 0 && (more.At == 0 || m.At < more.At) {
			more.At = m.At
		}
		if end, is := m.Input.(core.AttemptEnded); is && end.Outside {
			more.Ends = append(more.Ends, end)
		}
	}
	return more
}

// Divide divides mail into what is for the latest run of a workflow ID and what is for one run.
func Divide(all []Mail) (latest, own []Mail) {
	for _, m := range all {
		if m.Latest != "" {
			latest = append(latest, m)
		} else {
			own = append(own, m)
		}
	}
	return latest, own
}

// Sequences returns the sequence numbers of the inbox messages among the mail.
func Sequences(all []Mail) (numbers []int64) {
	for i := range all {
		if s := all[i].Sequence; s != 0 {
			numbers = append(numbers, s)
		}
	}
	return numbers
}
