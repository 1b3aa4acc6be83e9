package engine

import (
	"slices"

	"github.com/perdure/perdure/internal/post"
)

// hearFirst delivers the messages that a resident has to hear before its next turn, and
// completes the mail of that turn.
func (e *Engine) hearFirst(r *resident, t *turn) error {
	if t.heard {
		return nil // the usual case
	}
	if due := r.machine().NextDue(); due <= e.clock.Now() && !r.partition.box.HeardSince(due) {
		if err := e.hearSince(r.partition, r.stepper.workflowID(), due); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(r.mail) > 0 {
		r.mail = slices.Concat(t.mail, r.mail)
		t.mail = e.takeMail(r)
	}
	e.complete(r, t, e.clock.Now())
	return nil
}

// complete completes the mail of a turn at a time at which nothing is due that was not heard before.
// The engine's mu is held.
func (e *Engine) complete(r *resident, t *turn, now int64) {
	t.heard, t.now, t.more = true, now, post.First(r.mail)
	r.stepper.takeDeferred(t)
}
