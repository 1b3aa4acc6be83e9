package engine

import (
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/store"
)

// routeAgain lets the next look at the inbox route messages again, soon.
func (p *location) routeAgain(all []post.Mail) {
	p.box.Forget(post.Sequences(all)...)
	p.engine.inbox.lookAgain(len(all) > 0)
}

// lookAgain makes the inbox be read soon if there is a reason.
func (i *inbox) lookAgain(reason bool) {
	if reason {
		i.kick()
	}
}

// claim records that a message is about to be delivered. It returns nil if that has happened
// before, or if the message is not for this node. A partition that is being handed over gets
// only what its runs wait for.
func (i *inbox) claim(m store.Message, l *post.Look) *location {
	e := i.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.locations.all[m.Partition]
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

// claimsWait is how long the message that an attempt was claimed may wait for the next message
// about it. If that is its end, one look at the inbox and one turn take both, and the row of
// the call is not written in between. It is too short for a person to notice.
const claimsWait = 200 * time.Millisecond

// postponed reports whether a run may wait with a claim in its mailbox. It sets a timer so
// that the run waits no longer than claimsWait. The engine's mu is held.
func (r *resident) postponed(in core.Claimed) bool {
	e := r.location.engine
	left := claimsWait - time.Duration(e.clock.Now()-in.At)
	if r.busy || left <= 0 {
		return false
	}
	e.inbox.claimed = append(e.inbox.claimed, claimWaits{r, time.Now().Add(min(left, claimsWait))})
	if len(e.inbox.claimed) == 1 {
		time.AfterFunc(left, e.inbox.rouseClaimed)
	}
	return true
}

// claimWaits is a resident that waits with a claim in its mailbox.
type claimWaits struct {
	run   *resident
	until time.Time
}

// rouseClaimed resumes residents whose claims have waited long enough.
func (i *inbox) rouseClaimed() {
	i.engine.mu.Lock()
	defer i.engine.mu.Unlock()
	for len(i.claimed) > 0 {
		next := i.claimed[0]
		if left := time.Until(next.until); left > 0 {
			time.AfterFunc(left, i.rouseClaimed)
			return
		}
		i.claimed[0] = claimWaits{}
		i.claimed = i.claimed[1:]
		if !next.run.dropped && len(next.run.mail) > 0 {
			next.run.activate()
		}
	}
	i.claimed = nil
}

// kick makes the inbox be read soon.
func (i *inbox) kick() { i.bell.Ring() }
