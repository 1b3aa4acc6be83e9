package engine

import (
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/post"
)

// hearFirst delivers the messages that a resident has to hear before its next turn, and
// completes the mail of that turn.
func (r *resident) hearFirst(t *turn) error {
	e := r.location.engine
	if t.heard {
		return nil // the usual case
	}
	if at := r.mustHear(t, e.clock.Now()); at != 0 {
		if err := r.location.hearSince(r.stepper.workflowID(), at); err != nil {
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

// mustHear returns since when the inbox must have been heard before a turn at a time: what has
// come before that is due, or before a worker was found dead, comes first. It returns 0 if
// nothing is due.
func (r *resident) mustHear(t *turn, now int64) (at int64) {
	if due := r.machine().NextDue(); due <= now {
		at = max(due, 1)
	}
	for i := range t.mail {
		if _, is := t.mail[i].Input.(core.WorkerGone); is {
			at = max(at, t.mail[i].At)
		}
	}
	return at
}

// complete completes the mail of a turn at a time at which nothing is due that was not heard before.
// The engine's mu is held.
func (r *resident) complete(t *turn, now int64) {
	t.heard, t.now, t.more = true, now, post.Rest(r.mail)
	r.stepper.takeDeferred(t)
}
