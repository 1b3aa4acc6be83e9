package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/feed"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/store"
)

// inbox routes the messages for the locations of this node to their runs.
type inbox struct {
	*feed.Inbox
	engine *Engine
	office *post.Office

	// Guarded by the engine's mu:

	full bool // it is not read until fewer turns are in progress
}

// open makes the reader of the inbox.
func (i *inbox) open() {
	e := i.engine
	i.office = post.NewOffice()
	i.Inbox = feed.NewInbox(feed.InboxConfig{
		Source: e.db.ahead, Office: i.office, Every: e.config.InboxEvery, Soon: claimsWait, Page: e.config.InboxPage,
		Boxes: e.locations.boxes, Box: e.locations.boxOf, Route: i.route, Crowded: i.crowded,
	})
}

// meant returns the run that a message is for, or a run that names its chain; "" for the
// latest run of the workflow ID.
func meant(m store.Message, in core.Input) string {
	if in, is := in.(core.Control); is {
		return cmp.Or(in.Chain, m.Run)
	}
	return m.Run
}

// route delivers a message to its run once.
func (i *inbox) route(m store.Message, l *post.Look) error {
	e := i.engine
	switch m.Kind {
	case message.KindQuery:
		i.routeQuery(m)
		return nil
	case message.KindAnswer:
		if e.clock.Now()-m.Posted < int64(answerTime) {
			return nil
		}
		if p := i.claim(m, nil); p != nil { // its caller did not fetch it in time
			p.drop(m)
		}
		return nil
	case message.KindStart:
		i.routeStart(m, l)
		return nil
	}
	p := i.claim(m, l)
	if p == nil {
		return nil
	}
	in, err := message.Input(m)
	if err != nil {
		e.log.MessageUnreadable(err)
		p.routeUnread(m, err)
		return nil
	}
	run, to := m.Run, meant(m, in)
	if to != "" && p.box.DeferUntilStart(m.Sequence, m.WorkflowID, to) {
		return nil
	}
	if beat, is := in.(core.Heartbeat); is { // from outside: a sign of life of the body that runs here
		if x := e.attempts.Get(attempt.Key{Run: run, Call: beat.Call, Number: beat.Attempt}); x != nil {
			x.Alive()
		}
	}
	got := post.Mail{Input: in, Sequence: m.Sequence, At: m.Posted}
	if run != "" {
		p.deliver(run, got)
		return nil
	}
	got.Latest = m.WorkflowID
	if p.deliverByRoute(got) {
		return nil
	}
	switch run, err = p.latest(m.WorkflowID); {
	case errors.Is(err, ErrStopped):
		p.box.Forget(m.Sequence)
		return err
	case err != nil: // permanently, and for this message only: it waits for the next look, and other messages go on
		p.box.Forget(m.Sequence)
		e.log.MessageUnreadable(err)
	case run != "":
		p.deliver(run, got)
	case to != "" || !p.box.DeferUntilStart(m.Sequence, m.WorkflowID, ""):
		e.log.MessageDropped(m.WorkflowID, message.Word(m, in), m.Key)
		(&resident{location: p}).discard([]post.Mail{got})
	}
	return nil
}

// deliverByRoute delivers mail for the latest run of a workflow ID if a route names that run.
func (p *location) deliverByRoute(m post.Mail) bool {
	e := p.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	to := p.box.Receiver(m.Latest)
	if to != "" {
		p.deliverLocked(to, m)
	}
	return to != ""
}

// latest returns the latest run of a workflow ID in the database, "" if there is none.
func (p *location) latest(workflowID string) (string, error) {
	e := p.engine
	row, err := outage.Read(e.life.ctx, e.db.reads, "finding the run of a message", func(ctx context.Context) (*store.Run, error) {
		return e.db.Find(ctx, p.Partition, workflowID, "")
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	}
	return row.ID, nil
}

// routeAgain lets the next look at the inbox route messages again, soon.
func (p *location) routeAgain(all []post.Mail) {
	p.box.Forget(post.Sequences(all)...)
	p.engine.inbox.lookAgain(len(all) > 0)
}

// lookAgain makes the inbox be read soon if there is a reason.
func (i *inbox) lookAgain(reason bool) {
	if reason {
		i.Kick()
	}
}

// claim records that a message is about to be delivered. It returns nil if that has happened
// before, or if the message is not for this node. A location that is being handed over gets
// only what its runs wait for.
func (i *inbox) claim(m store.Message, l *post.Look) *location {
	e := i.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.locations.At(m.Partition)
	switch {
	case p == nil:
		return nil
	case p.Closed() && !l.Asks(p.box):
		l.PassOver(p.box)
		return nil
	case !p.box.Claim(m.Sequence):
		return nil
	}
	return p
}

// claimsWait is how long the message that an attempt was claimed may wait for the next message
// about it. If that is its end, one look at the inbox and one turn take both, and the row of
// the call is not written in between. It is too short for a person to notice.
const claimsWait = 200 * time.Millisecond

// postponed reports whether a run may wait with a claim in its mailbox, until it is due. The engine's
// mu is held.
func (r *resident) postponed(in core.Claimed) bool {
	e := r.location.engine
	now := e.clock.Now()
	due := min(in.At, now) + int64(claimsWait)
	if r.busy || due <= now {
		return false
	}
	e.dispatcher.due.Add(dispatch.DueRun{At: due, Tenure: r.location.Tenure(), Run: r.id, ByMail: true})
	return true
}

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
	p.box.NoteUnread(store.TaskRef{Partition: p.Partition, Run: m.Run, Number: d.Call, Attempt: d.Attempt}, m.Sequence)
	p.deliver(m.Run, post.Mail{
		Input: core.AttemptEnded{Call: ref.Call, Attempt: ref.Attempt, Outside: true}, Sequence: m.Sequence, Unread: &post.UnreadEnd{AttemptRef: ref, Cause: cause},
	})
}

// leaveUnread takes unreadable ends out of the mail of a turn, unless they come too late
// anyway. It returns the first, for which the run is parked, and nil if the run has no code
// now: then it is held already or about to end.
func (r *activeRun) leaveUnread(t *turn) error {
	rest, unread := post.WithoutUnread(t.mail, r.run.AwaitsEnd)
	if t.mail = rest; unread == nil || r.instance == nil {
		return nil
	}
	return unread
}

// hearSince delivers the messages of a location for the runs of a workflow ID, or all if it
// is "", that were durable at a time. It returns an error only if the engine stops.
func (p *location) hearSince(workflowID string, at int64) error {
	return p.engine.inbox.HearSince(p.box, workflowID, at)
}

// crowded reports whether no more messages are to be delivered now; see feed.InboxConfig.
func (i *inbox) crowded() bool {
	e := i.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	is := e.residents.busy >= e.config.MaxAtWork
	i.full = i.full || is // until it is roomier: somebody has left messages
	return is
}

// roomier lets the inbox be read again when the turns in progress are down to half the limit.
// The engine's mu is held.
func (i *inbox) roomier() {
	if i.full && i.engine.residents.busy <= i.engine.config.MaxAtWork/2 {
		i.full = false
		i.Kick()
	}
}
