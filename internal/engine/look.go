package engine

import (
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/store"
)

func (e *Engine) inboxLoop() {
	e.keepLooking(e.inboxKick, e.inboxLater, func() error {
		e.reading <- struct{}{}
		defer func() { <-e.reading }()
		return e.read(e.beginLook(nil, ""))
	})
}

// hearSince delivers the messages of a partition for the runs of a workflow ID, or all if it
// is "", that were durable at a time. It returns an error only if the engine stops.
func (p *partition) hearSince(workflowID string, at int64) error {
	e := p.engine
	if p.box.HeardSince(at) {
		return nil
	}
	p.box.Ask(workflowID)
	// Only one look runs at a time: a second one could deliver again what the first has
	// consumed.
	e.reading <- struct{}{}
	defer func() { <-e.reading }()
	if p.box.Heard(at, workflowID) {
		return nil
	}
	if err := e.read(e.beginLook(p.box, workflowID)); err != nil && e.ctx.Err() != nil {
		return err
	}
	return nil // what cannot be read now comes later
}

// beginLook begins a look for which runs wait that asked box, or a regular one at all partitions
// that this node looks after if box is nil.
func (e *Engine) beginLook(box *post.Box, workflowID string) *post.Look {
	e.mu.Lock()
	defer e.mu.Unlock()
	if box != nil {
		return box.BeginAsked(e.clock.Now(), workflowID, boxes(e.served()))
	}
	return e.office.Begin(e.clock.Now(), boxes(e.open()))
}

func boxes(ps []*partition) []*post.Box {
	list := make([]*post.Box, len(ps))
	for i, p := range ps {
		list[i] = p.box
	}
	return list
}

// read reads the pages of a look and delivers messages that were not delivered before.
func (e *Engine) read(l *post.Look) error {
	defer l.End()
	owned, passed := l.Locations(), false
	if len(owned) == 0 {
		return nil
	}
	for after := int64(0); ; {
		var page []store.Message
		err := e.reads.Persist(e.ctx, "reading messages", func() (err error) {
			page, err = e.db.Inbox(e.ctx, owned, after, inboxPage)
			return err
		})
		if err != nil {
			return err
		}
		crowded := len(page) == inboxPage && e.crowded()
		for _, m := range page {
			after = m.Sequence
			if crowded && l.Awaited() && !e.isWanted(l, &m) {
				passed = true
				continue
			}
			if err := e.route(m, l); err != nil {
				return err
			}
		}
		switch {
		case len(page) < inboxPage:
			l.Whole = !passed
			return nil
		case crowded && !l.Awaited():
			return nil
		}
	}
}

// isWanted reports whether runs wait for a message.
func (e *Engine) isWanted(l *post.Look, m *store.Message) bool {
	e.mu.Lock()
	p := e.partitions[m.Partition]
	e.mu.Unlock()
	return p != nil && l.Wants(p.box, m)
}

// crowded reports whether so many turns are in progress that more messages have to wait. They
// wait in the inbox, where a run costs only a row; the next look starts with them. A look that
// runs wait for delivers only theirs then.
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
