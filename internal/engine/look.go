package engine

import (
	"maps"
	"slices"

	"github.com/perdure/perdure/store"
)

// A look reads the inbox of partitions once, in pages. Regular looks follow the news; they read
// all partitions that this node looks after, and stop early when so many turns are in progress
// that more messages have to wait. A look that runs wait for reads to the end of their
// partitions, and one look serves all that began to wait before it began.

// look is a look at the inbox in progress.
type look struct {
	open  []*partition
	began int64    // engine time
	asked askedFor // nil for a regular look
	whole bool     // it reached the end, and passed over nothing
}

// askedFor are the workflow IDs whose runs wait for a look, by partition. The ID "" stands for
// all of the partition. A partition that is being handed over is only looked at if it is asked
// for.
type askedFor map[*partition]map[string]bool

func (a askedFor) add(p *partition, workflowID string) {
	if a[p] == nil {
		a[p] = map[string]bool{}
	}
	a[p][workflowID] = true
}

func (a askedFor) remove(p *partition, workflowID string) {
	if delete(a[p], workflowID); len(a[p]) == 0 {
		delete(a, p)
	}
}

// has reports whether the look reads a partition.
func (l *look) has(p *partition) bool { return slices.Contains(l.open, p) }

// may reports whether the look delivers messages of a partition that this node serves. Without a
// look, which is for messages that no run waits for, a partition that is being handed over gets
// none.
func (l *look) may(p *partition) bool { return !p.leaving || l != nil && l.asked[p] != nil }

// wants reports whether runs wait for a message.
func (l *look) wants(p *partition, m *store.Message) bool {
	ids := l.asked[p]
	return ids[""] || ids[m.WorkflowID]
}

func (e *Engine) inboxLoop() {
	e.keepLooking(e.inboxKick, e.inboxLater, func() error {
		e.reading <- struct{}{}
		defer func() { <-e.reading }()
		return e.read(e.beginLook(nil))
	})
}

// hearSince delivers the messages of a partition for the runs of a workflow ID, or all if it
// is "", that were durable at a time. It returns an error only if the engine stops.
func (e *Engine) hearSince(p *partition, workflowID string, at int64) error {
	if e.heardSince(p, at) {
		return nil
	}
	e.mu.Lock()
	if e.asked == nil {
		e.asked = askedFor{}
	}
	e.asked.add(p, workflowID)
	e.mu.Unlock()
	// Only one look runs at a time: a second one could deliver again what the first has
	// consumed.
	e.reading <- struct{}{}
	defer func() { <-e.reading }()
	heard := e.heardSince(p, at)
	e.mu.Lock()
	if heard {
		e.asked.remove(p, workflowID)
		e.mu.Unlock()
		return nil
	}
	asked := e.asked
	if e.asked = nil; asked == nil {
		asked = askedFor{}
	}
	asked.add(p, workflowID) // an earlier look may have taken it, and passed messages over
	e.mu.Unlock()
	if err := e.read(e.beginLook(asked)); err != nil && e.ctx.Err() != nil {
		return err
	}
	return nil // what cannot be read now comes later
}

// heardSince reports whether a look that began at a time or later has read a partition to its
// end. A time of 0 asks for any since the partition was taken.
func (e *Engine) heardSince(p *partition, at int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return p.inbox.heard >= max(at, 1)
}

// beginLook begins a look at the partitions that asked names, or at all that this node looks
// after if it is nil. Messages consumed before beginLook cannot appear in this look.
func (e *Engine) beginLook(asked askedFor) *look {
	l := &look{began: e.clock.Now(), asked: asked}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.served() {
		if asked == nil && !p.leaving || asked[p] != nil {
			l.open = append(l.open, p)
		}
	}
	for _, p := range l.open {
		for s, consumed := range p.inbox.known {
			if consumed {
				p.inbox.gone = append(p.inbox.gone, s)
			}
		}
	}
	return l
}

// read reads the pages of a look and delivers messages that were not delivered before.
func (e *Engine) read(l *look) error {
	defer func() { e.endLook(l) }()
	if len(l.open) == 0 {
		return nil
	}
	owned, passed := numbers(l.open), false
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
			if crowded && l.asked != nil && !e.isWanted(l, &m) {
				passed = true
				continue
			}
			if err := e.route(m, l); err != nil {
				return err
			}
		}
		switch {
		case len(page) < inboxPage:
			l.whole = !passed
			return nil
		case crowded && l.asked == nil:
			return nil
		}
	}
}

// isWanted reports whether runs wait for a message.
func (e *Engine) isWanted(l *look, m *store.Message) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return l.wants(e.partitions[m.Partition], m)
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

// endLook forgets what only this look at the inbox needed.
func (e *Engine) endLook(l *look) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range l.open {
		if l.whole {
			p.inbox.heard = max(p.inbox.heard, l.began)
		}
		p.inbox.forget(p.inbox.gone...)
		p.inbox.gone = p.inbox.gone[:0]
	}
	maps.DeleteFunc(e.routes, func(_ string, to route) bool { return to.stage == continued && l.has(to.partition) })
}
