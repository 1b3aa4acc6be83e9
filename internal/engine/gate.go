package engine

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// A gate is a resident as a run is: it belongs to the partition of its name, has a
// mailbox and takes one step at a time. Its row has the status store.Standing, its
// tickets are rows of calls. It has no history: each of its turns can be repeated,
// as those who read its messages mind none that comes twice. The last one removes the
// row of a gate that nobody uses.

// maxWords is how much of what is said to a gate is taken in one turn.
const maxWords = 500

// machine is what a resident steps: a run, a gate or a schedule.
type machine interface {
	NextDue() int64
	Idle() bool
	AwaitsMessage() bool
	Ended() bool
	State() core.State
}

// machine is nil if the resident is not loaded.
func (r *resident) machine() machine {
	switch {
	case r.run != nil:
		return r.run
	case r.gate != nil:
		return r.gate
	case r.timetable != nil:
		return r.timetable
	}
	return nil
}

// gateTurn takes one step of a gate and makes it durable.
func (e *Engine) gateTurn(r *resident, todo []mail) error {
	if r.gate == nil {
		if err := e.loadGate(r); err != nil {
			e.gateStuck(r, todo, err)
			return err
		}
	}
	if len(todo) > maxWords {
		e.putBack(r, todo[maxWords:])
		todo = todo[:maxWords]
	}
	var said []core.ToGate
	for _, m := range todo {
		if word, ok := m.input.(core.ToGate); ok {
			said = append(said, word)
		}
	}
	var out *core.GateTurn
	if err := protected(func() error { out = r.gate.Step(e.clock.Now(), said); return nil }); err != nil {
		e.gateStuck(r, todo, err)
		return err
	}
	e.logGate(r, out)
	t := e.gateStoreTurn(r, out)
	if t.Consumed = sequences(todo); out.Empty() && len(t.Consumed) == 0 {
		return nil
	}
	err := e.committer.Commit(t)
	switch {
	case err == nil:
		if t.Create != nil {
			r.create = nil
		}
		e.settled(r, t.Consumed)
		e.sent(&t)
		if out.Over {
			e.forgetGate(r)
			return errGone
		}
	case errors.Is(err, store.ErrFenced):
		e.lose(r.partition)
	case e.ctx.Err() == nil:
		e.gateStuck(r, todo, err)
	}
	return err
}

// forgetGate drops what is in memory of a gate that stands no more. What is said to it
// from now on, or was meanwhile, makes it anew.
func (e *Engine) forgetGate(r *resident) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.conflicts, entity.NameOf(r.id))
}

// loadGate reads a gate, or makes one that nobody was at before.
func (e *Engine) loadGate(r *resident) error {
	e.loading <- struct{}{}
	defer func() { <-e.loading }()
	rec, err := e.readRecord(r)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return e.newGate(r)
	case err != nil:
		return err
	}
	return protected(func() error {
		r.gate, err = core.LoadGate(entity.NameOf(r.id), record.Rows(rec.Calls), record.State(rec.Run.RunState))
		return err
	})
}

func (e *Engine) newGate(r *resident) error {
	row, err := entity.Find(e.group, entity.Gate, entity.NameOf(r.id)).Row(e.clock.Now())
	if err != nil {
		return err
	}
	r.gate, r.create = core.NewGate(entity.NameOf(r.id)), &row
	return nil
}

// gateStuck lets a gate that cannot be read or written try again later: what was
// said to it waits in the inbox.
func (e *Engine) gateStuck(r *resident, todo []mail, err error) {
	if e.ctx.Err() != nil {
		return
	}
	e.log.Error("perdure: a gate cannot go on; it is tried again with the next look at the inbox", "gate", entity.NameOf(r.id), "error", err)
	e.mu.Lock()
	defer e.mu.Unlock()
	r.partition.inbox.forget(sequences(todo)...)
}

func (e *Engine) logGate(r *resident, out *core.GateTurn) {
	for _, fault := range out.Faults {
		e.log.Error("perdure: a gate was told something that it cannot do", "gate", entity.NameOf(r.id), "error", fault)
	}
	if out.Replaced == nil {
		return
	}
	e.mu.Lock()
	said := e.conflicts[entity.NameOf(r.id)]
	e.conflicts[entity.NameOf(r.id)] = true
	e.mu.Unlock()
	if said {
		return
	}
	e.log.Warn("perdure: calls say different things about a gate; the latest is right. This is said once, and harmless while a new version is rolled out",
		"gate", entity.NameOf(r.id), "before", fmt.Sprintf("%+v", *out.Replaced), "now", fmt.Sprintf("%+v", r.gate.Detail().Spec))
}

// gateStoreTurn is a gate's turn in the store's words.
func (e *Engine) gateStoreTurn(r *resident, out *core.GateTurn) store.Turn {
	t := store.Turn{
		Partition: r.partition.number, Epoch: r.partition.epoch, Run: r.id, Time: out.Time,
		Calls: record.StoreRows(r.ref(), out.Rows), Closed: out.Closed, Remove: out.Over, Repeatable: true,
	}
	if out.State != nil {
		s := record.StoreState(*out.State)
		if r.create != nil {
			c := *r.create
			c.RunState, t.Create = s, &c
		} else {
			t.State = &s
		}
	}
	for i := range out.Say {
		t.Messages = append(t.Messages, message.FromGate(e.group, &out.Say[i]))
	}
	return t
}

// gateRule has a gate told that nobody wants what it keeps for a run that has ended or
// does not exist.
func gateRule(e *Engine) rule {
	return rule{refusal: func(_ *partition, in core.Input) (m store.Message, due bool) {
		if said, ok := in.(core.FromGate); ok {
			if answer, needed := said.Decline(); needed {
				return message.ToGate(e.group, &answer), true
			}
		}
		return m, false
	}}
}

// sent lets the inbox be read at once if a durable turn had messages for runs or
// gates of this very node.
func (e *Engine) sent(t *store.Turn) {
	if len(t.Messages) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range t.Messages {
		if m := &t.Messages[i]; m.Kind != message.KindAnswer && e.partitions[m.Partition] != nil {
			e.kickInbox()
			return
		}
	}
}
