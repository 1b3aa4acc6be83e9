package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/store"
)

// prepareReset adds to a reset request the part of the history to keep, or why there is none. The
// history does not grow meanwhile. The database copies it; only the turn that is cut passes
// through this process.
func (r *activeRun) prepareReset(m *post.Mail) error {
	e := r.engine
	in := m.Input.(core.Control)
	start := r.run.Start()
	cut, err := outage.Read(e.life.ctx, e.db.reads, "reading the history of run "+r.id, func(ctx context.Context) (*core.Cut, error) {
		return e.CutAt(ctx, r.location.Partition, &start, in.Call, in.KeepKeys)
	})
	in.Cut = cut
	if refusal, is := errors.AsType[*inspect.CutError](err); is {
		in.Fault, err = refusal, nil
	}
	m.Input = in
	return err
}

// takeDeferred implements stepper.
func (r *activeRun) takeDeferred(t *turn) {
	if len(t.mail) == 1 && t.mail[0].Resets() {
		return
	}
	if before := r.location.box.Deferred(r.id); post.TakesAny(r.run, before) {
		t.mail, t.given = slices.Concat(before, t.mail), len(before)
	}
}

// inputs returns the inputs of a step: first core.TakenOver if the run was loaded, else nil,
// then the input of each message, nil if it is a grant whose slot was withdrawn meanwhile.
func (r *activeRun) inputs(t *turn) []core.Input {
	inputs := append(t.inputs[:0], nil)
	if t.loaded {
		inputs[0] = r.takenOver(t)
	}
	for i, m := range t.mail {
		if g, is := m.Input.(core.Granted); is && !r.seats.Has(g.Call) {
			t.mail[i].Input = nil
		}
		inputs = append(inputs, t.mail[i].Timed())
	}
	if t.more.At != 0 {
		inputs = append(inputs, t.more)
	}
	t.inputs = inputs
	return inputs
}

// putOff keeps mail that a durable turn did not take for a later one. The engine's mu is held.
func (r *activeRun) putOff(t *turn) {
	box, before, deferred := r.location.box, r.location.box.Deferred(r.id), t.deferred
	if t.given == 0 {
		deferred = slices.Concat(before, deferred)
	}
	if t.out.Ended {
		r.mail = append(deferred, r.mail...)
		deferred = nil
	}
	if len(before) > 0 || len(deferred) > 0 {
		box.Defer(r.id, deferred)
		r.poked = r.poked || post.TakesAny(r.run, deferred)
	}
}

// refusals returns the replies to the senders of mail that no run takes.
func (p *location) refusals(todo []post.Mail) (messages []store.Message) {
	for _, m := range todo {
		if reply, needed := message.Refusal(p.engine.db.group, p.Partition, m.Input); needed {
			messages = append(messages, reply)
		}
	}
	return messages
}

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
	run, _ := r.machine().(*core.Run)
	for i := range t.mail {
		if _, is := t.mail[i].Input.(core.WorkerGone); is {
			at = max(at, t.mail[i].At)
		} else if run == nil {
			continue
		} else if due := run.DueFrom(t.mail[i].Input); due <= now {
			at = max(at, due) // the turn is so late that it begins the attempt and times it out
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
