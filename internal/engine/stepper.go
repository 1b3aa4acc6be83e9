package engine

import (
	"errors"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
)

// stepper is what a resident has in memory: a run, a gate or a schedule. All of them
// advance alike: loaded if need be, stepped, stored, and only then carried out. Except
// where it is said otherwise, the methods belong to the goroutine that works on the
// resident.
type stepper interface {
	// machine is the pure machine; nil before load and after it is of no use any more.
	machine() machine
	// load brings it into memory: from the database, or newly made.
	load(todo []mail) error
	// step takes one step on the mail and returns what is to be stored, the messages it
	// consumes included; with due false there is nothing.
	step(todo []mail, loaded bool) (t store.Turn, due bool, err error)
	// stored carries out the step, which is durable now.
	stored() error
	// refused is told why the step is not durable. The resident is unloaded then.
	refused(err error)
	// answer runs query handlers on the state that the last durable turn left.
	answer(questions []question) error
	// close ends what it runs. The engine's mu is held, and no goroutine works on the
	// resident.
	close()
}

// machine is what a stepper steps. *core.Run, *core.Gate and *core.Timetable are such.
type machine interface {
	NextDue() int64
	Idle() bool
	AwaitsMessage() bool
	Ended() bool
	State() core.State
}

// newStepper returns the stepper of a resident, which is not loaded. The ID says which
// kind it is.
func (e *Engine) newStepper(r *resident) stepper {
	switch entity.KindOf(r.id) {
	case entity.Gate:
		return &standing{resident: r, engine: e, kind: gateKind{e}}
	case entity.Schedule:
		return &standing{resident: r, engine: e, kind: scheduleKind{e}}
	}
	return &activeRun{resident: r, engine: e}
}

// turn takes one step of a resident and makes it durable. An error means that the
// resident is of no use any more.
func (e *Engine) turn(r *resident, todo []mail) error {
	var onTrial *turnOnTrial
	if run, is := r.stepper.(*activeRun); is {
		if run.entry == written {
			return e.getInLine(run, todo)
		}
		var err error
		if onTrial, err = e.onTrial(run, todo); err != nil {
			return err
		}
		defer onTrial.finished()
	}
	loaded := r.machine() == nil
	if loaded {
		if err := r.stepper.load(todo); err != nil {
			onTrial.wentOn(errors.Is(err, errElsewhere))
			return err
		}
	}
	t, due, err := r.stepper.step(todo, loaded)
	if err != nil {
		return err
	}
	if due {
		if err := e.committer.Commit(t); err != nil {
			if errors.Is(err, store.ErrFenced) {
				e.lose(r.partition)
			}
			r.stepper.refused(err)
			return err
		}
		onTrial.wentOn(t.Number > 0)
		e.settled(r, &t)
		e.sent(&t)
	}
	onTrial.survived()
	return r.stepper.stored()
}

// putBack returns mail to the mailbox that no durable turn has taken.
func (e *Engine) putBack(r *resident, todo []mail) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r.mail = append(todo, r.mail...)
	r.poked = true
}

// settled notes that a turn is durable: the row exists if the turn made it, and the
// messages are consumed.
func (e *Engine) settled(r *resident, t *store.Turn) {
	created := t.Create != nil && t.Create.ID == r.id
	if !created && len(t.Consumed) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if created {
		e.created(r)
		e.tellStarted(r, nil)
	}
	r.partition.inbox.consumed(t.Consumed)
}

// sent lets the inbox be read soon if a durable turn had messages for this very node.
func (e *Engine) sent(t *store.Turn) {
	if len(t.Messages) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range t.Messages {
		if m := &t.Messages[i]; m.Kind != message.KindAnswer && e.servesOf(m.Partition) {
			e.kickInbox()
			return
		}
	}
}
