package engine

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store"
)

// schedules is the kind of standing entities that start runs over and over. The runs are
// children of the schedule. A run that it starts twice has one ID, and is started once.
type schedules struct{ engine *Engine }

func (k schedules) decode(rec *store.Record) (core.Standing, error) { return k.engine.timetable(rec) }

// missing says that a schedule without a record was deleted.
func (schedules) missing(string) (core.Standing, *store.Run, error) { return nil, nil, nil }

func (schedules) notice(string, *core.StandingTurn) {}

func (schedules) removed(string) {}

// rest is how long a schedule rests that could not go on.
func (schedules) rest() time.Duration { return time.Minute }

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

func (e *Engine) timetable(rec *store.Record) (*core.Timetable, error) {
	return core.LoadTimetable(e.scheduleConfig(entity.NameOf(rec.Run.ID)), record.Rows(rec.Calls), record.State(rec.Run.RunState))
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
