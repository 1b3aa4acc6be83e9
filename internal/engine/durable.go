package engine

import (
	"errors"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/store"
)

// putBack puts mail that no durable turn has consumed back into the mailbox.
func (r *resident) putBack(todo []post.Mail) {
	e := r.location.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	r.mail = append(todo, r.mail...)
	r.poked = true
}

// change returns an empty change of the rows of a resident.
func (r *resident) change() store.Turn {
	p := r.location
	return store.Turn{Partition: p.Partition, Ward: p.Ward, Epoch: p.Epoch, Run: r.id}
}

// commit makes a change durable that is no step of the machine, and records it.
func (r *resident) commit(t store.Turn) error {
	e := r.location.engine
	err := e.db.committer.Commit(t)
	if errors.Is(err, store.ErrFenced) {
		e.locations.lose(r.location)
	}
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	r.recordDurable(&t)
	return nil
}

// recordDurable records that a change is durable: its messages are consumed, and the row that it
// creates exists. If it sent messages to this node, the inbox is read soon. The engine's mu is held.
func (r *resident) recordDurable(t *store.Turn) {
	e := r.location.engine
	if created := t.Create != nil && t.Create.ID == r.id; created {
		r.noteCreated()
		r.tellStarted(nil)
	}
	r.location.box.Consumed(t.Consumed)
	for i := range t.Messages {
		if m := &t.Messages[i]; m.Kind != message.KindAnswer && e.locations.servesOf(m.Partition) {
			e.inbox.Kick()
			return
		}
	}
}

// noteCreated records that the row of a run is durable. The engine's mu is held.
func (r *resident) noteCreated() {
	r.startDecided()
	r.create, r.pending = nil, nil
}

// startDecided deletes the route of a run whose start is decided. From then on the database
// decides about messages for the workflow ID, other starts included. The engine's mu is held.
func (r *resident) startDecided() {
	if r.pending == nil {
		return
	}
	r.location.engine.inbox.lookAgain(r.location.box.Decided(r.pending.start.WorkflowID, r.id))
}

// tellStarted sends err to the callers that wait for the run's row. The engine's mu is held.
func (r *resident) tellStarted(err error) {
	for _, ch := range r.started {
		ch <- err
	}
	r.started = nil
}

// undo frees the slots of a turn that is not durable. The engine's mu is held.
func (r *resident) undo(out *core.Turn) {
	for _, d := range out.Dispatch {
		r.location.engine.dispatcher.grantLocked(r.seats.Withdraw(d.Call))
	}
}

// drop consumes a message that no run takes.
func (p *location) drop(m store.Message) {
	(&resident{location: p, id: m.Run}).discard([]post.Mail{{Sequence: m.Sequence}})
}

// discard consumes the messages of a run that has ended. It makes callers that wait for the
// run look again.
func (r *resident) discard(todo []post.Mail) {
	e := r.location.engine
	e.mu.Lock()
	r.gone = true // later callers must not wait for it
	e.Notify(r.id)
	e.mu.Unlock()
	if len(todo) > 0 {
		e.log.InputsLate(r.id, len(todo))
	}
	t := r.change()
	if t.Consumed = post.Sequences(todo); len(t.Consumed) > 0 {
		t.Messages, t.Repeatable = r.location.refusals(todo), true
		_ = r.commit(t) // else they stay for another try, or another owner
	}
}
