package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/schedule"
)

// Requests to schedules come from any process. They are durable when they return;
// the owner of the schedule follows them.

// SetSchedule makes a schedule, or changes what it does. The workflow ID of the
// request is not used.
func (e *Engine) SetSchedule(ctx context.Context, name string, when schedule.Spec, req StartRequest) error {
	spec, err := e.scheduleOf(name, when, &req)
	if err != nil {
		return err
	}
	now := e.clock.Now()
	row, err := entity.Find(e.group, entity.Schedule, name).Row(now)
	if err != nil {
		return err
	}
	row.RunState = record.StoreState(core.NewTimetable(record.ScheduleConfig(e.group, name), *spec, now).State())
	if err := e.db.Create(ctx, row); err != nil {
		return err
	}
	// Whether that made it or it was there before is not known. If it was made, it does
	// what it is told already.
	return e.tellSchedule(ctx, name, core.ToSchedule{Word: core.ScheduleSet, At: now, Spec: spec})
}

// scheduleOf checks what a schedule is to do, and puts it into the words that are on
// record.
func (e *Engine) scheduleOf(name string, when schedule.Spec, req *StartRequest) (*history.Schedule, error) {
	if err := errors.Join(history.CheckName("schedule name", name), e.usable(name+"/")); err != nil {
		return nil, err
	}
	if err := errors.Join(history.CheckName("workflow name", req.Type), req.Check(), when.Validate()); err != nil {
		return nil, err
	}
	if req.Delay != 0 || req.MustBeNew || req.NewAfter != NoEnd {
		return nil, &history.InputError{What: "start option", Problem: "is Delay, MustBeNew or NewAfter; the runs of a schedule begin when it says, under IDs of their own"}
	}
	s := &history.Schedule{
		Cron: when.Cron, TimeZone: when.TimeZone, Every: when.Every, Offset: when.Offset, Jitter: when.Jitter,
		CatchUp: when.CatchUp, Overlap: string(when.Overlap),
		Workflow: req.Type, Input: req.Input, Trace: req.Trace, Settings: req.Settings,
	}
	if s.CatchUp == 0 {
		s.CatchUp = schedule.DefaultCatchUp
	}
	if s.Overlap == "" {
		s.Overlap = string(schedule.Skip)
	}
	return s, nil
}

// PauseSchedule lets a schedule fire nothing by itself any more, or again.
func (e *Engine) PauseSchedule(ctx context.Context, name string, paused bool, by, why string) error {
	word := core.ScheduleResume
	if paused {
		word = core.SchedulePause
	}
	return e.askSchedule(ctx, name, core.ToSchedule{Word: word, By: by, Why: why})
}

// DeleteSchedule lets a schedule fire nothing any more. The runs that it started go on.
func (e *Engine) DeleteSchedule(ctx context.Context, name, by, why string) error {
	return e.askSchedule(ctx, name, core.ToSchedule{Word: core.ScheduleDelete, By: by, Why: why})
}

// TriggerSchedule fires a schedule now, also if it is paused, and answers the workflow
// ID of the fire.
func (e *Engine) TriggerSchedule(ctx context.Context, name string, overlap schedule.Overlap, by, why string) (id string, err error) {
	now := e.clock.Now()
	err = e.askSchedule(ctx, name, core.ToSchedule{Word: core.ScheduleTrigger, At: now, Overlap: string(overlap), By: by, Why: why})
	return core.FireID(name, now), err
}

// BackfillSchedule fires the nominal times of the past from one to another, both
// included, and answers how many these are.
func (e *Engine) BackfillSchedule(ctx context.Context, name string, from, until time.Time, overlap schedule.Overlap, by, why string) (n int, err error) {
	t, err := e.Timetable(ctx, name)
	if err != nil {
		return 0, err
	}
	detail := t.Detail()
	times, err := record.ScheduleSpec(&detail.Spec).Times()
	if err != nil {
		return 0, err
	}
	now := e.clock.Now()
	if !until.Before(time.Unix(0, now)) {
		return 0, &history.InputError{What: "end of the range", Problem: fmt.Sprintf("is %s, which is still to come; a schedule fires such times by itself", until.UTC().Format(time.RFC3339))}
	}
	for at := times.Next(from.Add(-1)); !at.IsZero() && !at.After(until); at = times.Next(at) {
		if n++; n > core.MaxBackfill {
			return 0, &history.InputError{What: "range", Problem: fmt.Sprintf("has more than %d times; fill a shorter one at a time", core.MaxBackfill)}
		}
	}
	if n == 0 {
		return 0, &history.InputError{What: "range", Problem: "has no time at which the schedule fires"}
	}
	if overlap == "" {
		overlap = schedule.BufferAll
	}
	return n, e.askSchedule(ctx, name, core.ToSchedule{
		Word: core.ScheduleBackfill, At: now, From: from.UnixNano(), Until: until.UnixNano(), Overlap: string(overlap), By: by, Why: why,
	})
}

// askSchedule says something to a schedule that there is.
func (e *Engine) askSchedule(ctx context.Context, name string, m core.ToSchedule) error {
	if err := schedule.Overlap(m.Overlap).Check(); err != nil {
		return err
	}
	if _, err := e.Timetable(ctx, name); err != nil {
		return err
	}
	if m.At == 0 {
		m.At = e.clock.Now()
	}
	return e.tellSchedule(ctx, name, m)
}

// tellSchedule makes durable what is said to a schedule.
func (e *Engine) tellSchedule(ctx context.Context, name string, m core.ToSchedule) error {
	err := e.db.Post(ctx, message.ToSchedule(e.group, name, &m))
	if err == nil {
		e.kickInbox()
	}
	return err
}
