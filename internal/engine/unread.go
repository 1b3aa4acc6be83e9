package engine

import (
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/store"
)

// The message that reports the end of an attempt may be unreadable here: its key or its blob
// is missing, or its bytes were changed. Without more, its call would stay open for ever
// without any notice. So the run is parked until this process restarts, and the message stays
// in the inbox for an owner that can read it. Time limits of the attempt hold meanwhile.

// routeUnread delivers the end of an attempt that cannot be read.
func (p *location) routeUnread(m store.Message, cause error) {
	if m.Kind != message.KindAttempt || m.Run == "" {
		return
	}
	d, _ := message.Read(m) // the unencrypted part
	ref := core.AttemptRef{Call: d.Call, Attempt: d.Attempt}
	p.box.NoteUnread(store.TaskRef{Partition: p.partition, Run: m.Run, Number: d.Call, Attempt: d.Attempt}, m.Sequence)
	p.deliver(m.Run, post.Mail{
		Input: core.AttemptEnded{Call: ref.Call, Attempt: ref.Attempt, Outside: true}, Sequence: m.Sequence, Unread: &post.UnreadEnd{AttemptRef: ref, Cause: cause},
	})
}

// leaveUnread takes unreadable ends out of the mail of a turn, unless they come too late
// anyway. It returns the first, for which the run is parked, and nil if the run has no code
// now: then it is held already or about to end.
func (r *activeRun) leaveUnread(t *turn) (first error) {
	if !slices.ContainsFunc(t.mail, func(m post.Mail) bool { return m.Unread != nil }) {
		return nil // the usual case
	}
	t.mail = slices.DeleteFunc(slices.Clone(t.mail), func(m post.Mail) bool {
		if m.Unread == nil || m.Unread.Call != 0 && !r.run.AwaitsEnd(m.Unread.AttemptRef) {
			return false
		}
		if first == nil && r.instance != nil {
			first = m.Unread
		}
		return true
	})
	return first
}
