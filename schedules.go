package perdure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// The views of schedules. All of them are plain data and have stable JSON names.
type (
	// ScheduleInfo is a schedule as it stands: what it does, when it fires next, and
	// what came of the fires there were.
	ScheduleInfo = view.Schedule
	// Fire is a nominal time of a schedule that came.
	Fire = view.Fire
	// UpcomingFire is a nominal time of a schedule that is still to come.
	UpcomingFire = view.UpcomingFire
	// ScheduledBy is the fire that started a run's chain.
	ScheduledBy = view.ScheduledBy
)

// Schedule makes a schedule that starts a workflow over and over, or changes what it
// does; nothing changes if it does that already. So a program may call it at each
// start. When it returns, the schedule is durable, and whoever serves the group's
// workflows fires it, whether or not this process lives.
//
// A fire starts the workflow ID "name/nominal time", such as
// "report/2026-11-22T01:30:00Z", whose code learns the time from workflow.GetInfo. A
// nominal time is fired once. A change holds for fires that come; runs that are open
// go on.
//
// Of the start options, all can be given but Delay, MustBeNew and NewAfter. All
// mistakes in the Spec are reported at once.
func Schedule[In, Out any](ctx context.Context, e *Engine, name string, w workflow.Workflow[In, Out], in In, spec schedule.Spec, options ...StartOption) error {
	return e.schedule(ctx, name, w.Name(), in, spec, options)
}

// ScheduleJSON is Schedule for a program that has the workflow's name and its input as
// JSON.
func (e *Engine) ScheduleJSON(ctx context.Context, name, workflow string, input json.RawMessage, spec schedule.Spec, options ...StartOption) error {
	return e.schedule(ctx, name, workflow, input, spec, options)
}

func (e *Engine) schedule(ctx context.Context, name, workflow string, in any, spec schedule.Spec, options []StartOption) error {
	req := engine.StartRequest{Type: workflow}
	var err error
	if req.Input, err = history.Encode(in); err != nil {
		return fmt.Errorf("perdure: schedule %q: input: %w", name, err)
	}
	for _, o := range options {
		o(&req)
	}
	if err := e.inner.SetSchedule(ctx, name, spec, req); err != nil {
		return fmt.Errorf("perdure: schedule %q: %w", name, err)
	}
	return nil
}

// Schedules returns the schedules of the engine's group by name. Like all views it
// reads what is committed.
func (e *Engine) Schedules(ctx context.Context) ([]ScheduleInfo, error) {
	all, err := e.inner.Schedules(ctx)
	if err != nil {
		return nil, fmt.Errorf("perdure: schedules: %w", err)
	}
	return all, nil
}

// DescribeSchedule returns where a schedule stands. ErrNotFound says that there is
// none of that name.
func (e *Engine) DescribeSchedule(ctx context.Context, name string) (*ScheduleInfo, error) {
	s, err := e.inner.DescribeSchedule(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("perdure: schedule %q: %w", name, err)
	}
	return s, nil
}

// ScheduleOption is a setting of what a person does to a schedule.
type ScheduleOption func(*scheduleSettings)

type scheduleSettings struct {
	by, why string
	overlap schedule.Overlap
}

// ScheduleBy says who does it and why, to be shown with the schedule; both may be
// empty.
func ScheduleBy(who, why string) ScheduleOption {
	return func(s *scheduleSettings) { s.by, s.why = who, why }
}

// ScheduleOverlap says what becomes of the fires of TriggerSchedule or
// BackfillSchedule while others are open.
func ScheduleOverlap(o schedule.Overlap) ScheduleOption {
	return func(s *scheduleSettings) { s.overlap = o }
}

func settingsOf(options []ScheduleOption) (s scheduleSettings) {
	for _, o := range options {
		o(&s)
	}
	return s
}

// whoOf is settingsOf for what fires nothing.
func whoOf(options []ScheduleOption) (scheduleSettings, error) {
	s := settingsOf(options)
	if s.overlap != "" {
		return s, errors.New("ScheduleOverlap has no meaning here: nothing is fired; of the options only ScheduleBy has one")
	}
	return s, nil
}

// PauseSchedule lets a schedule fire nothing by itself until ResumeSchedule. What
// waits because of overlap is skipped, runs that are open go on. When it returns, the
// wish is durable. Pausing a paused schedule changes nothing.
func (e *Engine) PauseSchedule(ctx context.Context, name string, options ...ScheduleOption) error {
	s, err := whoOf(options)
	if err == nil {
		err = e.inner.PauseSchedule(ctx, name, true, request.By{Who: s.by, Why: s.why})
	}
	if err != nil {
		return fmt.Errorf("perdure: pause schedule %q: %w", name, err)
	}
	return nil
}

// ResumeSchedule ends a pause. Nominal times in the pause are not fired: see
// BackfillSchedule.
func (e *Engine) ResumeSchedule(ctx context.Context, name string, options ...ScheduleOption) error {
	s, err := whoOf(options)
	if err == nil {
		err = e.inner.PauseSchedule(ctx, name, false, request.By{Who: s.by, Why: s.why})
	}
	if err != nil {
		return fmt.Errorf("perdure: resume schedule %q: %w", name, err)
	}
	return nil
}

// TriggerSchedule fires a schedule now, also if it is paused. The nominal time is that
// of the call. It returns the workflow ID of the fire, which need not exist yet, and
// never will if the fire overlaps and is skipped: without ScheduleOverlap that is as
// the schedule says.
func (e *Engine) TriggerSchedule(ctx context.Context, name string, options ...ScheduleOption) (id string, err error) {
	s := settingsOf(options)
	if id, err = e.inner.TriggerSchedule(ctx, name, s.overlap, request.By{Who: s.by, Why: s.why}); err != nil {
		return "", fmt.Errorf("perdure: trigger schedule %q: %w", name, err)
	}
	return id, nil
}

// BackfillSchedule fires the nominal times of the past from one to another, both
// included, also if the schedule is paused, and returns how many these are: at most
// 1,000. One that was fired before is not fired again. Without ScheduleOverlap they
// are fired one after the other, as schedule.BufferAll says.
func (e *Engine) BackfillSchedule(ctx context.Context, name string, from, until time.Time, options ...ScheduleOption) (n int, err error) {
	s := settingsOf(options)
	if n, err = e.inner.BackfillSchedule(ctx, name, from, until, s.overlap, request.By{Who: s.by, Why: s.why}); err != nil {
		return 0, fmt.Errorf("perdure: backfill schedule %q: %w", name, err)
	}
	return n, nil
}

// DeleteSchedule lets a schedule fire nothing any more. Runs that it started go on,
// what waits is not fired. A later Schedule of that name makes it anew.
func (e *Engine) DeleteSchedule(ctx context.Context, name string, options ...ScheduleOption) error {
	s, err := whoOf(options)
	if err == nil {
		err = e.inner.DeleteSchedule(ctx, name, request.By{Who: s.by, Why: s.why})
	}
	if err != nil {
		return fmt.Errorf("perdure: delete schedule %q: %w", name, err)
	}
	return nil
}
