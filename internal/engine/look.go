package engine

import (
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/store"
)

func (i *inbox) loop() {
	i.keepLooking(i.bell, i.later, func() error {
		i.reading <- struct{}{}
		defer func() { <-i.reading }()
		return i.read(i.beginLook(nil, ""))
	})
}

// hearSince delivers the messages of a partition for the runs of a workflow ID, or all if it
// is "", that were durable at a time. It returns an error only if the engine stops.
func (p *location) hearSince(workflowID string, at int64) error {
	e := p.engine
	if p.box.HeardSince(at) {
		return nil
	}
	p.box.Ask(workflowID)
	// Only one look runs at a time: a second one could deliver again what the first has
	// consumed.
	e.inbox.reading <- struct{}{}
	defer func() { <-e.inbox.reading }()
	if p.box.Heard(at, workflowID) {
		return nil
	}
	if err := e.inbox.read(e.inbox.beginLook(p.box, workflowID)); err != nil && e.life.ctx.Err() != nil {
		return err
	}
	return nil // what cannot be read now comes later
}

// beginLook begins a look for which runs wait that asked box, or a regular one at all partitions
// that this node looks after if box is nil.
func (i *inbox) beginLook(box *post.Box, workflowID string) *post.Look {
	e := i.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if box != nil {
		return box.BeginAsked(e.clock.Now(), workflowID, boxes(e.locations.served()))
	}
	return e.inbox.office.Begin(e.clock.Now(), boxes(e.locations.open()))
}

func boxes(ps []*location) []*post.Box {
	list := make([]*post.Box, len(ps))
	for i, p := range ps {
		list[i] = p.box
	}
	return list
}

// read reads the pages of a look and delivers messages that were not delivered before.
func (i *inbox) read(l *post.Look) error {
	e := i.engine
	defer l.End()
	owned, passed := l.Locations(), false
	if len(owned) == 0 {
		return nil
	}
	for after := int64(0); ; {
		var page []store.Message
		err := e.db.reads.Persist(e.life.ctx, "reading messages", func() (err error) {
			page, err = e.db.Inbox(e.life.ctx, owned, after, inboxPage)
			return err
		})
		if err != nil {
			return err
		}
		crowded := len(page) == inboxPage && i.crowded()
		leaves := l.Leaves(crowded)
		for _, m := range page {
			after = m.Sequence
			if leaves && !i.wants(l, &m) {
				passed = true
				continue
			}
			if err := i.route(m, l); err != nil {
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

// wants reports whether runs wait for a message.
func (i *inbox) wants(l *post.Look, m *store.Message) bool {
	e := i.engine
	e.mu.Lock()
	p := e.locations.all[m.Partition]
	e.mu.Unlock()
	return p != nil && l.Wants(p.box, m)
}

// crowded reports whether so many turns are in progress that more messages have to wait. They
// wait in the inbox, where a run costs only a row; the next look starts with them. A look that
// runs wait for delivers only theirs then.
func (i *inbox) crowded() bool {
	e := i.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	i.full = e.residents.busy >= e.config.MaxAtWork
	return i.full
}

// roomier lets the inbox be read again when the turns in progress are down to half the limit.
// The engine's mu is held.
func (i *inbox) roomier() {
	if i.full && i.engine.residents.busy <= i.engine.config.MaxAtWork/2 {
		i.full = false
		i.kick()
	}
}
