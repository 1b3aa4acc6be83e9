package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store"
)

// A schedule is a resident as a gate is: it belongs to the partition of its name, has
// a mailbox and takes one step at a time. Its row has the status store.Standing, its
// fires are rows of calls, and the runs that they start are its children. It has no
// history: each of its turns can be repeated. A run that it starts twice has one ID,
// and is started once.

// scheduleConfig is what the machine of a schedule of this group is told.
func (e *Engine) scheduleConfig(name string) core.ScheduleConfig {
	at := entity.Find(e.group, entity.Schedule, name)
	return core.ScheduleConfig{Name: name, ID: at.WorkflowID, Run: at.Run, Group: at.Group, Calendar: newCalendar}
}

// calendar is the nominal times of a spec, in the core's words.
type calendar struct{ times *schedule.Times }

func newCalendar(s history.Schedule) (core.Calendar, error) {
	spec := specOf(&s)
	times, err := spec.Times()
	if err != nil {
		return nil, err
	}
	return calendar{times}, nil
}

func (c calendar) After(at int64) int64 {
	next := c.times.Next(time.Unix(0, at))
	if next.IsZero() {
		return 0
	}
	return next.UnixNano()
}

// specOf is what is on record as the public package has it.
func specOf(s *history.Schedule) schedule.Spec {
	return schedule.Spec{
		Cron: s.Cron, TimeZone: s.TimeZone, Every: s.Every, Offset: s.Offset, Jitter: s.Jitter,
		CatchUp: s.CatchUp, Overlap: schedule.Overlap(s.Overlap),
	}
}

// scheduleTurn takes one step of a schedule and makes it durable.
func (e *Engine) scheduleTurn(r *resident, todo []mail) error {
	if r.timetable == nil {
		switch err := e.loadTimetable(r); {
		case errors.Is(err, store.ErrNotFound):
			e.discard(r, todo)
			return errGone
		case err != nil:
			e.scheduleStuck(r, todo, err)
			return err
		}
	}
	var said []core.Input
	for _, m := range todo {
		if m.input != nil {
			said = append(said, m.input)
		}
	}
	var out *core.ScheduleTurn
	if err := protected(func() error { out = r.timetable.Step(e.clock.Now(), said); return nil }); err != nil {
		e.scheduleStuck(r, todo, err)
		return err
	}
	for _, fault := range out.Faults {
		e.log.Error("perdure: a schedule was told something that it cannot do", "schedule", r.timetable.Name(), "error", fault)
	}
	heard := heardOf(todo, out.Heard)
	if len(heard) < len(todo) {
		e.putBack(r, todo[len(heard):])
	}
	t, err := e.scheduleStoreTurn(r, out)
	if err != nil {
		e.scheduleStuck(r, heard, err)
		return err
	}
	if t.Consumed = sequences(heard); out.Empty() && len(t.Consumed) == 0 {
		return nil
	}
	switch err = e.committer.Commit(t); {
	case err == nil:
		e.settled(r, t.Consumed)
		e.sent(&t)
	case errors.Is(err, store.ErrFenced):
		e.lose(r.partition)
	case e.ctx.Err() == nil:
		e.scheduleStuck(r, heard, err)
	}
	return err
}

// heardOf is the mail with the first n inputs, and what stands before the next one.
func heardOf(todo []mail, n int) []mail {
	for i, m := range todo {
		if m.input == nil {
			continue
		}
		if n == 0 {
			return todo[:i]
		}
		n--
	}
	return todo
}

func (e *Engine) loadTimetable(r *resident) error {
	e.loading <- struct{}{}
	defer func() { <-e.loading }()
	rec, err := e.readRecord(r)
	if err != nil {
		return err
	}
	return protected(func() error {
		r.timetable, err = e.timetable(rec)
		return err
	})
}

func (e *Engine) timetable(rec *store.Record) (*core.Timetable, error) {
	return core.LoadTimetable(e.scheduleConfig(entity.NameOf(rec.Run.ID)), record.Rows(rec.Calls), record.State(rec.Run.RunState))
}

// scheduleStuckFor is how long a schedule that could not go on rests.
const scheduleStuckFor = time.Minute

// scheduleStuck lets a schedule that cannot be read or written try again later: what
// was said to it waits in the inbox.
func (e *Engine) scheduleStuck(r *resident, todo []mail, err error) {
	if e.ctx.Err() != nil {
		return
	}
	e.log.Error("perdure: a schedule cannot go on; it is tried again soon", "schedule", entity.NameOf(r.id), "error", err)
	e.mu.Lock()
	defer e.mu.Unlock()
	r.partition.inbox.forget(sequences(todo)...)
	e.addWake(e.clock.Now()+int64(scheduleStuckFor), r.partition, r.id)
}

// scheduleStoreTurn is a schedule's turn in the store's words.
func (e *Engine) scheduleStoreTurn(r *resident, out *core.ScheduleTurn) (store.Turn, error) {
	t := store.Turn{
		Partition: r.partition.number, Epoch: r.partition.epoch, Run: r.id, Time: out.Time,
		Calls: record.StoreRows(r.ref(), out.Rows), Closed: out.Closed, Repeatable: true,
	}
	if out.State != nil {
		s := record.StoreState(*out.State)
		t.State = &s
	}
	for i := range out.Messages {
		m, err := message.FromRun(e.group, &out.Messages[i])
		if err != nil {
			return t, fmt.Errorf("what it starts cannot be written: %w", err)
		}
		t.Messages = append(t.Messages, m)
	}
	return t, nil
}

// alreadyFired reports whether the run that a schedule starts exists, and drops the
// message if so: a schedule may say twice that a run is to begin.
func (e *Engine) alreadyFired(p *partition, m store.Message) bool {
	err := e.insist("looking for the run of a schedule", func() error {
		_, err := e.db.Find(e.ctx, p.number, "", m.Run)
		return err
	})
	switch {
	case err == nil:
		e.discard(&resident{partition: p, id: m.Run}, []mail{{sequence: m.Sequence}})
		return true
	case !errors.Is(err, store.ErrNotFound):
		e.leaveForLater(p, m.Sequence)
		return true
	}
	return false
}
