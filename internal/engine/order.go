package engine

import (
	"slices"

	"github.com/perdure/perdure/internal/post"
)

// hearFirst delivers the messages that a resident has to hear before its next turn, and
// completes the mail of that turn.
func (r *resident) hearFirst(t *turn) error {
	e := r.partition.engine
	if t.heard {
		return nil // the usual case
	}
	if due := r.machine().NextDue(); due <= e.clock.Now() && !r.partition.box.HeardSince(due) {
		if err := r.partition.hearSince(r.stepper.workflowID(), due); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(r.mail) > 0 {
		r.mail = slices.Concat(t.mail, r.mail)
		t.mail = r.takeMail()
	}
	r.complete(t, e.clock.Now())
	return nil
}

// complete completes the mail of a turn at a time at which nothing is due that was not heard before.
// The engine's mu is held.
func (r *resident) complete(t *turn, now int64) {
	t.heard, t.now, t.more = true, now, post.First(r.mail)
	r.stepper.takeDeferred(t)
}
