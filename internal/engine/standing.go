package engine

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/store"
)

// standing is a gate or a schedule in memory. Its row has the status store.Standing; its
// tickets or fires are rows of calls. It has no history. Each of its turns may be repeated,
// because receiving one of its messages twice has the effect of receiving it once.
type standing struct {
	*resident
	engine *Engine
	kind   standingKind

	entity core.Standing // nil: to be loaded
}

// standingKind is the difference between gates and schedules.
type standingKind interface {
	// decode returns the entity of a record.
	decode(rec *store.Record) (core.Standing, error)
	// missing returns the entity for a name without a record, with its row; nil if there is
	// none.
	missing(name string) (core.Standing, *store.Run, error)
	// notice is called before a step; the function it returns logs what the step changed.
	notice(name string, entity core.Standing) func(out *core.StandingTurn)
	// removed is called when the row of the entity has been removed, with the engine's mu held.
	removed(name string)
	// rest returns how long an entity that failed waits before it is tried again, 0 for the
	// next look at the inbox.
	rest() time.Duration
}

func (s *standing) name() string { return entity.NameOf(s.id) }

func (s *standing) machine() machine {
	if s.entity == nil {
		return nil
	}
	return s.entity
}

func (s *standing) load(todo []post.Mail) error {
	e := s.engine
	e.residents.loading <- struct{}{}
	defer func() { <-e.residents.loading }()
	rec, err := s.readRecord()
	switch {
	case errors.Is(err, store.ErrNotFound):
		s.entity, s.create, err = s.kind.missing(s.name())
		if err == nil && s.entity == nil {
			s.discard(todo)
			return errGone
		}
	case err == nil:
		err = replay.Protect(func() error {
			s.entity, err = s.kind.decode(rec)
			return err
		})
	}
	if err != nil {
		s.stuck(todo, err)
	}
	return err
}

// workflowID implements stepper.
func (s *standing) workflowID() string {
	return entity.Find(s.engine.db.group, entity.KindOf(s.id), s.name()).WorkflowID
}

func (s *standing) takeDeferred(*turn) {}

func (s *standing) step(t *turn) (err error) {
	inputs := make([]core.Input, len(t.mail))
	for i, m := range t.mail {
		inputs[i] = m.Input
	}
	notice := s.kind.notice(s.name(), s.entity)
	if err := replay.Protect(func() error { t.said = s.entity.Step(t.now, inputs); return nil }); err != nil {
		s.stuck(t.mail, err)
		return err
	}
	for _, fault := range t.said.Faults {
		s.engine.log.EntityFault(entity.KindOf(s.id).String(), s.name(), fault)
	}
	notice(t.said)
	if n := t.said.Heard; n < len(t.mail) {
		s.putBack(t.mail[n:])
		t.mail = t.mail[:n]
	}
	if t.commit, err = s.storeTurn(t); err != nil {
		s.stuck(t.mail, err)
		return err
	}
	t.due = !t.said.Empty() || len(t.commit.Consumed) > 0
	return nil
}

// storeTurn translates the turn for the store.
func (s *standing) storeTurn(of *turn) (store.Turn, error) {
	out := of.said
	t := store.Turn{
		Partition: s.location.partition, Ward: s.location.ward, Epoch: s.location.epoch, Run: s.id, Time: out.Time,
		Calls: record.StoreRows(s.ref(), out.Rows), Closed: out.Closed, Remove: out.Over, Consumed: post.Sequences(of.mail), Repeatable: true,
	}
	if out.State != nil {
		state := record.StoreState(*out.State)
		if s.create != nil {
			row := *s.create
			row.RunState, t.Create = state, &row
		} else {
			t.State = &state
		}
	}
	for i := range out.Say {
		t.Messages = append(t.Messages, message.FromGate(s.engine.db.group, &out.Say[i]))
	}
	for i := range out.Messages {
		m, err := message.FromRun(s.engine.db.group, &out.Messages[i])
		if err != nil {
			return t, err
		}
		t.Messages = append(t.Messages, m)
	}
	return t, nil
}

func (s *standing) committed(*turn) {}

func (s *standing) apply(t *turn) error {
	if t.due {
		s.recordDurableLocked(&t.commit)
		s.engine.deliverSoonLocked(&t.commit)
	}
	if t.said.Over { // a later message creates a new one
		s.kind.removed(s.name())
		return errGone
	}
	return nil
}

func (s *standing) refused(t *turn, err error) {
	if !errors.Is(err, store.ErrFenced) {
		s.stuck(t.mail, err)
	}
}

// stuck makes an entity that cannot be read or written try again later. Its messages stay in
// the inbox.
func (s *standing) stuck(todo []post.Mail, err error) {
	e := s.engine
	if e.life.ctx.Err() != nil {
		return
	}
	e.log.EntityStuck(entity.KindOf(s.id).String(), s.name(), err)
	e.mu.Lock()
	defer e.mu.Unlock()
	s.location.box.Forget(post.Sequences(todo)...)
	if rest := s.kind.rest(); rest > 0 {
		e.dispatcher.addWake(e.clock.Now()+int64(rest), s.location, s.id)
	}
}

func (s *standing) answer(questions []question) error {
	turnAway(questions)
	return nil
}

func (s *standing) close() {}
