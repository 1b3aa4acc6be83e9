package engine

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
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
	kind   entity.Kind // entity.Gate or entity.Schedule

	entity core.Standing // nil: to be loaded
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
	case errors.Is(err, store.ErrNotFound) && s.kind == entity.Gate: // no call has used it before
		var row store.Run
		row, err = entity.Find(e.db.group, entity.Gate, s.name()).Row(e.clock.Now())
		s.entity, s.create = core.NewGate(s.name()), &row
	case errors.Is(err, store.ErrNotFound): // the schedule was deleted
		s.discard(todo)
		return errGone
	case err == nil:
		err = replay.Protect(func() (err error) {
			if s.kind == entity.Gate {
				s.entity, err = record.Gate(rec)
			} else {
				s.entity, err = record.Schedule(e.db.group, rec)
			}
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
	return entity.Find(s.engine.db.group, s.kind, s.name()).WorkflowID
}

func (s *standing) takeDeferred(*turn) {}

func (s *standing) step(t *turn) (err error) {
	inputs := make([]core.Input, len(t.mail))
	for i, m := range t.mail {
		inputs[i] = m.Input
	}
	gate, _ := s.entity.(*core.Gate)
	var before core.GateDetail
	if gate != nil {
		before = gate.Detail()
	}
	if err := replay.Protect(func() error { t.said = s.entity.Step(t.now, inputs); return nil }); err != nil {
		s.stuck(t.mail, err)
		return err
	}
	for _, fault := range t.said.Faults {
		s.engine.log.EntityFault(s.kind.String(), s.name(), fault)
	}
	if gate != nil {
		s.engine.log.Gate(s.name(), gate, &before, t.said)
	}
	if n := t.said.Heard; n < len(t.mail) {
		s.putBack(t.mail[n:])
		t.mail = t.mail[:n]
	}
	if t.commit, err = record.StandingTurn(s.engine.db.group, s.change(), s.create, t.said); err != nil {
		s.stuck(t.mail, err)
		return err
	}
	t.commit.Consumed = post.Sequences(t.mail)
	t.due = !t.said.Empty() || len(t.commit.Consumed) > 0
	return nil
}

func (s *standing) committed(*turn) {}

func (s *standing) apply(t *turn) error {
	if t.due {
		s.recordDurable(&t.commit)
	}
	if t.said.Over { // a later message creates a new one
		s.engine.log.Forget(s.name())
		return errGone
	}
	return nil
}

func (s *standing) refused(t *turn, err error) {
	if !errors.Is(err, store.ErrFenced) { // else its location is lost already; see take
		s.stuck(t.mail, err)
	}
}

// scheduleRests is how long a schedule that failed waits before it is tried again. A gate is tried
// again with the next look at the inbox.
const scheduleRests = time.Minute

// stuck makes an entity that cannot be read or written try again later. Its messages stay in
// the inbox.
func (s *standing) stuck(todo []post.Mail, err error) {
	e := s.engine
	if e.life.ctx.Err() != nil {
		return
	}
	e.log.EntityStuck(s.kind.String(), s.name(), err)
	e.mu.Lock()
	defer e.mu.Unlock()
	s.location.box.Forget(post.Sequences(todo)...)
	if s.kind == entity.Schedule {
		e.dispatcher.addWake(e.clock.Now()+int64(scheduleRests), s.location, s.id)
	}
}

func (s *standing) answer(questions []question) error {
	turnAway(questions)
	return nil
}

func (s *standing) close() {}
