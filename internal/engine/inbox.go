package engine

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
)

// inboxPage is how many messages are read at once. The inbox is read when
// something is known to be there, and from time to time in case a notification
// was lost.
const inboxPage = 500

func (e *Engine) kickInbox() { kick(e.inboxKick) }

// hear is told by the database what others did.
func (e *Engine) hear(news store.News) {
	if news&store.NewsMessage != 0 {
		e.kickInbox()
	}
	if news&store.NewsSwitches != 0 {
		kick(e.switchKick)
	}
	if news&store.NewsNodes != 0 {
		kick(e.nodesKick)
	}
}

// listen learns of messages posted by others, and of nodes that come and go.
func (e *Engine) listen() {
	for e.ctx.Err() == nil {
		if err := e.db.Listen(e.ctx, e.hear); err != nil && e.ctx.Err() == nil {
			e.log.Warn("perdure: listening for messages failed; they are still found, but later", "error", err)
		}
		if !e.pause(time.Second) {
			return
		}
	}
}

// keepLooking looks whenever it is kicked, and from time to time in case a
// notification was lost, until the engine ends. Look reports its errors itself.
func (e *Engine) keepLooking(kicked <-chan struct{}, look func() error) {
	timer := time.NewTimer(e.config.InboxEvery)
	defer timer.Stop()
	for {
		select {
		case <-kicked:
		case <-timer.C:
		case <-e.ctx.Done():
			return
		}
		if look() != nil && e.ctx.Err() != nil {
			return
		}
		timer.Reset(e.config.InboxEvery)
	}
}

func (e *Engine) inboxLoop() {
	e.keepLooking(e.inboxKick, func() error { return e.readInbox(nil) })
}

// readInbox delivers the messages that were not delivered before. One at a time
// does so: what another one consumed meanwhile could be delivered again. Those of a
// partition that leaves are its next owner's, unless it is the one that is given.
func (e *Engine) readInbox(also *partition) error {
	e.reading <- struct{}{}
	defer func() { <-e.reading }()
	return e.readMessages(also)
}

// readInboxOnce makes sure that the inbox of a partition was read since it was
// taken.
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
	return p.read
}

func (e *Engine) readMessages(also *partition) error {
	defer e.lookedThrough()
	open, consumed := e.readable(also)
	if len(open) == 0 {
		return nil
	}
	owned := numbers(open)
	// What was consumed before this look cannot show up in it.
	defer e.forget(consumed)
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
			e.wereRead(open)
			return nil
		}
	}
}

// letter is a message that waits in the inbox of a partition.
type letter struct {
	partition *partition
	sequence  int64
}

// readable are the partitions whose inbox is to be read, and the messages known
// to be gone from there.
func (e *Engine) readable(also *partition) (open []*partition, consumed []letter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.partitions {
		if p.leaving && p != also {
			continue
		}
		open = append(open, p)
		for s, gone := range p.pending {
			if gone {
				consumed = append(consumed, letter{p, s})
			}
		}
	}
	return open, consumed
}

func (e *Engine) wereRead(ps []*partition) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range ps {
		p.read = true
	}
}

func (e *Engine) forget(letters []letter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range letters {
		delete(l.partition.pending, l.sequence)
	}
}

// claimLetter notes that a message is about to be delivered; nil if it was
// already, or is not for this node.
func (e *Engine) claimLetter(m store.Message, also *partition) *partition {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.partitions[m.Partition]
	if p == nil || p.leaving && p != also {
		return nil
	}
	if _, known := p.pending[m.Sequence]; known {
		return nil
	}
	p.pending[m.Sequence] = false
	return p
}

// route delivers a message to its run, once.
func (e *Engine) route(m store.Message, also *partition) error {
	switch m.Kind {
	case message.KindQuery:
		e.routeQuery(m)
		return nil
	case message.KindAnswer:
		e.sweepAnswer(m)
		return nil
	case message.KindStart:
		e.routeStart(m, also)
		return nil
	}
	p := e.claimLetter(m, also)
	if p == nil {
		return nil
	}
	in, err := message.Input(m)
	if err != nil {
		e.log.Error("perdure: a message is left in the inbox", "error", err)
		return nil
	}
	run := m.Run
	if to := meant(m, in); to != "" && e.waitForBirth(p, m, to) {
		return nil
	}
	if run == "" && e.deliverToBirth(p, m, in) {
		return nil
	}
	if run == "" {
		var latest *store.Run
		err := e.insist("finding the run of a message", func() (err error) {
			latest, err = e.db.Find(e.ctx, p.number, m.WorkflowID, "")
			return err
		})
		switch {
		case errors.Is(err, store.ErrNotFound) && meant(m, in) == "" && e.waitForBirth(p, m, ""):
			return nil
		case errors.Is(err, store.ErrNotFound):
			e.log.Warn("perdure: a message is dropped, because there is no such workflow", "workflow", m.WorkflowID, "kind", m.Kind, "key", m.Key)
			e.discard(&resident{partition: p}, []mail{{input: in, sequence: m.Sequence}})
			return nil
		case err != nil:
			e.forget([]letter{{p, m.Sequence}}) // so that it is routed again
			return err
		}
		run = latest.ID
	}
	e.heardOutside(run, in)
	e.deliver(p, run, mail{input: in, sequence: m.Sequence, latest: m.Run == ""})
	return nil
}
