package record

import (
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store"
)

// Gate decodes the record of a gate.
func Gate(r *store.Record) (*core.Gate, error) {
	return core.LoadGate(entity.NameOf(r.Run.ID), Rows(r.Calls), State(r.Run.RunState))
}

// Schedule decodes the record of a schedule.
func Schedule(g store.Group, r *store.Record) (*core.Timetable, error) {
	return core.LoadTimetable(ScheduleConfig(g, entity.NameOf(r.Run.ID)), Rows(r.Calls), State(r.Run.RunState))
}

// ScheduleConfig returns the configuration of the machine of a schedule.
func ScheduleConfig(g store.Group, name string) core.ScheduleConfig {
	at := entity.Find(g, entity.Schedule, name)
	return core.ScheduleConfig{Name: name, ID: at.WorkflowID, Run: at.Run, Group: at.Group, Calendar: newCalendar}
}

// ScheduleSpec returns the spec of a recorded schedule.
func ScheduleSpec(s *history.Schedule) schedule.Spec {
	return schedule.Spec{
		Cron: s.Cron, TimeZone: s.TimeZone, Every: s.Every, Offset: s.Offset, Jitter: s.Jitter,
		CatchUp: s.CatchUp, Overlap: schedule.Overlap(s.Overlap),
	}
}

// calendar is a core.Calendar with the nominal times of a spec.
type calendar struct{ times *schedule.Times }

func newCalendar(s history.Schedule) (core.Calendar, error) {
	spec := ScheduleSpec(&s)
	times, err := spec.Times()
	if err != nil {
		return nil, err
	}
	return calendar{times}, nil
}

// After implements core.Calendar.
func (c calendar) After(at int64) int64 {
	next := c.times.Next(time.Unix(0, at))
	if next.IsZero() {
		return 0
	}
	return next.UnixNano()
}
