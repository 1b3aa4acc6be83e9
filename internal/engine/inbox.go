package engine

import (
	"cmp"
	"errors"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
)

// inboxPage is how many messages one query reads. The inbox is read on notification, and
// periodically in case a notification was lost.
const inboxPage = 500

func (e *Engine) kickInbox() { kick(e.inboxKick) }

// hear handles notifications of the database.
func (e *Engine) hear(news store.News) {
	if news&store.NewsMessage != 0 {
		e.kickInbox()
		e.mu.Lock()
		e.newsOfLine()
		e.mu.Unlock()
	}
	if news&store.NewsClaims != 0 {
		kick(e.inboxLater)
	}
	if news&store.NewsTasks != 0 && e.server != nil {
		e.server.Kick()
	}
	if news&store.NewsSwitches != 0 {
		kick(e.switchKick)
	}
	if news&store.NewsNodes != 0 {
		e.member.Kick()
		kick(e.goneWorkers.kick)
	}
}

// listen listens for notifications of the database until the engine ends.
func (e *Engine) listen() {
	for e.ctx.Err() == nil {
		if err := e.db.Listen(e.ctx, e.hear); err != nil && e.ctx.Err() == nil {
			e.log.ListenFailed(err)
		}
		if !clock.Pause(e.ctx, time.Second) {
			return
		}
	}
}

// keepLooking calls look when it is kicked, claimsWait after a value from later, and
// periodically in case a notification was lost, until the engine ends. Look reports its errors
// itself.
func (e *Engine) keepLooking(kicked, later <-chan struct{}, look func() error) {
	timer := time.NewTimer(e.config.InboxEvery)
	defer timer.Stop()
	soon := false
	for {
		select {
		case <-kicked:
		case <-later:
			if !soon {
				soon = true
				timer.Reset(min(claimsWait, e.config.InboxEvery))
			}
			continue
		case <-timer.C:
		case <-e.ctx.Done():
			return
		}
		if look() != nil && e.ctx.Err() != nil {
			return
		}
		soon = false
		timer.Reset(e.config.InboxEvery)
	}
}

func (e *Engine) inboxLoop() {
	e.keepLooking(e.inboxKick, e.inboxLater, func() error { return e.readInbox(nil) })
}

// readInbox delivers messages that were not delivered before. Only one reader runs at a time:
// a second one could deliver again what the first has consumed. Messages of a partition that
// is being handed over are left to the next owner, except for also.
func (e *Engine) readInbox(also *partition) error {
	e.reading <- struct{}{}
	defer func() { <-e.reading }()
	return e.readMessages(also)
}

// readInboxOnce reads the inbox of a partition unless it has been read since the takeover.
func (e *Engine) readInboxOnce(p *partition) error {
	e.reading <- struct{}{}
	defer func() { <-e.reading }()
	if e.wasRead(p) {
		return nil
	}
	return e.readMessages(p)
}

func (e *Engine) wasRead(p *partition) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return p.inbox.read
}

func (e *Engine) readMessages(also *partition) error {
	open, whole := e.beginLook(also), false
	defer func() { e.endLook(open, whole) }()
	if len(open) == 0 {
		return nil
	}
	owned := numbers(open)
	for after := int64(0); ; {
		var page []store.Message
		err := e.persist("reading messages", func() (err error) {
			page, err = e.db.Inbox(e.ctx, owned, after, inboxPage)
			return err
		})
		if err != nil {
			return err
		}
		for _, m := range page {
			after = m.Sequence
			if err := e.route(m, also); err != nil {
				return err
			}
		}
		if len(page) < inboxPage {
			whole = true
			return nil
		}
		if also == nil && e.crowded() {
			return nil
		}
	}
}

// crowded reports whether so many turns are in progress that more messages have to wait. They
// wait in the inbox, where a run costs only a row; the next look starts with them. A look that
// a run itself waits for is not cut short.
func (e *Engine) crowded() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held = e.busy >= e.config.MaxAtWork
	return e.held
}

// roomier lets the inbox be read again when the turns in progress are down to half the limit.
// The engine's mu is held.
func (e *Engine) roomier() {
	if e.held && e.busy <= e.config.MaxAtWork/2 {
		e.held = false
		e.kickInbox()
	}
}

// beginLook returns the partitions whose inbox is to be read. Messages consumed before
// beginLook cannot appear in this look.
func (e *Engine) beginLook(also *partition) (open []*partition) {
	e.mu.Lock()
	defer e.mu.Unlock()
	open = e.open(also)
	for _, p := range open {
		for s, consumed := range p.inbox.known {
			if consumed {
				p.inbox.gone = append(p.inbox.gone, s)
			}
		}
	}
	return open
}

// endLook forgets what only this look at the inbox needed. Whole says that the look reached
// the end of the inbox.
func (e *Engine) endLook(open []*partition, whole bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range open {
		p.inbox.read = p.inbox.read || whole
		p.inbox.forget(p.inbox.gone...)
		p.inbox.gone = p.inbox.gone[:0]
	}
	for id, to := range e.routes {
		if to.stage == continued {
			delete(e.routes, id)
		}
	}
}

// meant returns the run that a message is for, or a run that names its chain; "" for the
// latest run of the workflow ID.
func meant(m store.Message, in core.Input) string {
	if in, is := in.(core.Control); is {
		return cmp.Or(in.Chain, m.Run)
	}
	return m.Run
}

// kinds returns the handlers of messages that are no input of a run, by kind.
func (e *Engine) kinds() map[string]func(m store.Message, also *partition) {
	return map[string]func(store.Message, *partition){
		message.KindQuery:  func(m store.Message, _ *partition) { e.routeQuery(m) },
		message.KindAnswer: func(m store.Message, _ *partition) { e.sweepAnswer(m) },
		message.KindStart:  e.routeStart,
	}
}

// route delivers a message to its run once.
func (e *Engine) route(m store.Message, also *partition) error {
	if receive := e.receivers[m.Kind]; receive != nil {
		receive(m, also)
		return nil
	}
	p := e.claim(m, also)
	if p == nil {
		return nil
	}
	in, err := message.Input(m)
	if err != nil {
		e.log.MessageUnreadable(err)
		e.routeUnread(p, m, err)
		return nil
	}
	run, to := m.Run, meant(m, in)
	if to != "" && e.deferUntilStart(p, m, to) {
		return nil
	}
	for i := range e.intake {
		if arrived := e.intake[i].arrived; arrived != nil {
			arrived(run, in)
		}
	}
	got := mail{input: in, sequence: m.Sequence}
	if run != "" {
		e.deliver(p, run, got)
		return nil
	}
	got.latest = m.WorkflowID
	if e.deliverByRoute(p, got) {
		return nil
	}
	switch run, err = e.latest(p, m.WorkflowID); {
	case errors.Is(err, ErrStopped):
		e.leaveForLater(p, m.Sequence)
		return err
	case err != nil: // permanently, and for this message only: it waits for the next look, and other messages go on
		e.leaveForLater(p, m.Sequence)
		e.log.MessageUnreadable(err)
	case run != "":
		e.deliver(p, run, got)
	case to != "" || !e.deferUntilStart(p, m, ""):
		e.log.MessageDropped(m.WorkflowID, message.Word(m, in), m.Key)
		e.discard(&resident{partition: p}, []mail{got})
	}
	return nil
}

// deliverByRoute delivers mail for the latest run of a workflow ID if a route names that run.
func (e *Engine) deliverByRoute(p *partition, m mail) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	to, ok := e.routes[m.latest]
	if ok && to.partition == p {
		e.deliverLocked(p, to.run, m)
		return true
	}
	return false
}

// latest returns the latest run of a workflow ID in the database, "" if there is none.
func (e *Engine) latest(p *partition, workflowID string) (string, error) {
	var row *store.Run
	err := e.insist("finding the run of a message", func() (err error) {
		row, err = e.db.Find(e.ctx, p.home, workflowID, "")
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	}
	return row.ID, nil
}
