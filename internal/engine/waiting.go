package engine

import (
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/store"
)

// routeAgain lets the next look at the inbox route messages again, soon.
func (p *partition) routeAgain(all []post.Mail) {
	p.box.Forget(post.Sequences(all)...)
	p.engine.lookAgain(len(all) > 0)
}

// lookAgain makes the inbox be read soon if there is a reason.
func (e *Engine) lookAgain(reason bool) {
	if reason {
		e.kickInbox()
	}
}

// claim records that a message is about to be delivered. It returns nil if that has happened
// before, or if the message is not for this node. A partition that is being handed over gets
// only what its runs wait for.
func (e *Engine) claim(m store.Message, l *post.Look) *partition {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.partitions[m.Partition]
	switch {
	case p == nil:
		return nil
	case p.leaving && !l.Asks(p.box):
		l.PassOver(p.box)
		return nil
	case !p.box.Claim(m.Sequence):
		return nil
	}
	return p
}
