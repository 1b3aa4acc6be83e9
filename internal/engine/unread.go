package engine

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
)

// The message that reports the end of an attempt may be unreadable here: its key or its blob
// is missing, or its bytes were changed. Without more, its call would stay open for ever
// without any notice. So the run is parked until this process restarts, and the message stays
// in the inbox for an owner that can read it. Time limits of the attempt hold meanwhile.

// unreadEnd reports that the end of an attempt cannot be read. It wraps no error, because the
// record of the run is intact whatever is wrong with the message.
type unreadEnd struct {
	core.AttemptRef
	cause error
}

func (u *unreadEnd) Error() string {
	what := "of an attempt"
	if u.Call != 0 {
		what = fmt.Sprintf("of attempt %d of call %d", u.Attempt, u.Call)
	}
	return fmt.Sprintf("the end %s is on record and cannot be read: %v; start the program again when it can be read, or terminate or reset the run", what, u.cause)
}

// routeUnread delivers the end of an attempt that cannot be read.
func (e *Engine) routeUnread(p *partition, m store.Message, cause error) {
	if m.Kind != message.KindAttempt || m.Run == "" {
		return
	}
	d, _ := message.Read(m) // the unencrypted part
	ref := core.AttemptRef{Call: d.Call, Attempt: d.Attempt}
	e.mu.Lock()
	p.inbox.unread[store.TaskRef{Partition: p.home, Run: m.Run, Number: d.Call, Attempt: d.Attempt}] = m.Sequence
	e.mu.Unlock()
	e.deliver(p, m.Run, mail{
		input: core.AttemptEnded{Call: ref.Call, Attempt: ref.Attempt, Outside: true}, sequence: m.Sequence, unread: &unreadEnd{ref, cause},
	})
}

// leaveUnread takes unreadable ends out of the mail of a turn, unless they come too late
// anyway. It returns the first, for which the run is parked, and nil if the run has no code
// now: then it is held already or about to end.
func (e *Engine) leaveUnread(r *activeRun, t *turn) (first error) {
	if !slices.ContainsFunc(t.mail, func(m mail) bool { return m.unread != nil }) {
		return nil // the usual case
	}
	t.mail = slices.DeleteFunc(slices.Clone(t.mail), func(m mail) bool {
		if m.unread == nil || m.unread.Call != 0 && !r.run.AwaitsEnd(m.unread.AttemptRef) {
			return false
		}
		if first == nil && r.instance != nil {
			first = m.unread
		}
		return true
	})
	return first
}

// isUnread reports whether the end of an attempt is in the inbox and cannot be read here.
func (e *Engine) isUnread(p *partition, ref store.TaskRef) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, is := p.inbox.unread[ref]
	return is
}

// withUnread adds to the messages that a turn consumes the unreadable ends of attempts that
// are over, which are no longer needed.
func (e *Engine) withUnread(p *partition, over []store.TaskRef, consumed []int64) []int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ref := range over {
		if s, is := p.inbox.unread[ref]; is && !slices.Contains(consumed, s) {
			consumed = append(consumed, s)
		}
	}
	return consumed
}
