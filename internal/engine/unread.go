package engine

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
)

// A message that tells how an attempt ended may be unreadable here: its key or its blob is
// missing, or its bytes were changed. Its call would stay open for ever, and nothing would
// say why. So the run is parked until this process starts again, and the message stays in
// the inbox: an owner that can read it takes it. Time limits of the attempt hold meanwhile.

// unreadEnd says that the end of an attempt cannot be read. It wraps nothing: the record
// of the run is in order, whatever is wrong with the message.
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

// routeUnread delivers the end of an attempt that cannot be read: its run is to know.
func (e *Engine) routeUnread(p *partition, m store.Message, cause error) {
	if m.Kind != message.KindAttempt || m.Run == "" {
		return
	}
	d, _ := message.Read(m) // as much as its face shows
	ref := core.AttemptRef{Call: d.Call, Attempt: d.Attempt}
	e.mu.Lock()
	p.inbox.unread[store.TaskRef{Partition: p.home, Run: m.Run, Number: d.Call, Attempt: d.Attempt}] = m.Sequence
	e.mu.Unlock()
	e.deliver(p, m.Run, mail{
		input: core.AttemptEnded{Call: ref.Call, Attempt: ref.Attempt, Outside: true}, sequence: m.Sequence, unread: &unreadEnd{ref, cause},
	})
}

// leaveUnread takes ends that cannot be read out of the mail of a turn, unless they come
// too late anyway, and returns the first, for which the run is to be parked. One that has
// no code now is held already, or about to end.
func (e *Engine) leaveUnread(r *activeRun) (first error) {
	if !slices.ContainsFunc(r.todo, func(m mail) bool { return m.unread != nil }) {
		return nil // as nearly always
	}
	r.todo = slices.DeleteFunc(slices.Clone(r.todo), func(m mail) bool {
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

// withUnread adds the messages that cannot be read of attempts that are over to those that a
// turn consumes: nobody needs them any more.
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
