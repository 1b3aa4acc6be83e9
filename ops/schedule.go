package ops

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// Schedules returns the schedules of the engine's group by name. It reads committed
// state. perdure.Schedule makes schedules.
func Schedules(ctx context.Context, e *perdure.Engine) ([]view.Schedule, error) {
	all, err := inside(e).Schedules(ctx)
	return all, failed(err, "schedules")
}

// DescribeSchedule returns the state of a schedule. The error is perdure.ErrNotFound if
// there is none of that name.
func DescribeSchedule(ctx context.Context, e *perdure.Engine, name string) (*view.Schedule, error) {
	s, err := inside(e).DescribeSchedule(ctx, name)
	return s, failed(err, "schedule %q", name)
}

// ScheduleSetting is what SetSchedule sets.
type ScheduleSetting struct {
	Workflow string // name of the definition that the schedule starts
	Input    any    // of its runs
	Spec     schedule.Spec
	Options  []workflow.RunOption // of its runs
	// UnchangedSince is view.Schedule.Set as it was read, before somebody made up what to set: if the
	// schedule has been set again since, the error is a *view.ChangedError, and nothing is set. With
	// the zero time what was set before is replaced, whatever it is.
	UnchangedSince time.Time
}

// SetSchedule does what perdure.Schedule does, for what is known by its name, and records who
// asked for it. A schedule that does what is to be set is not changed. With UnchangedSince and the
// RequestID of a request that was carried out, it does nothing. With DryRun it only says what is
// wrong.
func SetSchedule(ctx context.Context, e *perdure.Engine, name string, set ScheduleSetting, options ...ControlOption) error {
	input, err := history.EncodeArgument("input", set.Input)
	if err == nil {
		settings := seal.StartSettingsOf(set.Options)
		start := request.Start{Type: set.Workflow, Input: input, Trace: settings.Trace, Settings: settings.Settings, Fault: settings.Fault}
		given := unselected(options)
		err = inside(e).ReplaceSchedule(ctx, name, set.Spec, start, request.Replaced{Set: set.UnchangedSince, Dry: given.dry}, given.whom())
	}
	return failed(err, "schedule %q", name)
}

// PauseSchedule stops a schedule from firing at nominal times until ResumeSchedule. Fires
// that wait because of overlap are skipped; open runs continue. When it returns, the
// request is durable. Pausing a paused schedule changes nothing. Repeated with the
// RequestID of a request that was carried out, it does nothing.
func PauseSchedule(ctx context.Context, e *perdure.Engine, name string, options ...ControlOption) error {
	return failed(inside(e).PauseSchedule(ctx, name, true, undryable(options, "ops.PauseSchedule")), "pause schedule %q", name)
}

// ResumeSchedule ends a pause. Nominal times within the pause are not fired: see
// BackfillSchedule. RequestID works as for PauseSchedule.
func ResumeSchedule(ctx context.Context, e *perdure.Engine, name string, options ...ControlOption) error {
	return failed(inside(e).PauseSchedule(ctx, name, false, undryable(options, "ops.ResumeSchedule")), "resume schedule %q", name)
}

// TriggerSchedule fires a schedule now, even if it is paused. The nominal time is that of
// the call. It returns the workflow ID of the fire, which may not exist yet, and never
// will if the fire overlaps and is skipped. Repeated with the same RequestID, it fires
// nothing and returns the same. overlap says what happens to the fire while runs are
// open; empty is the Overlap of the schedule.
func TriggerSchedule(ctx context.Context, e *perdure.Engine, name string, overlap schedule.Overlap, options ...ControlOption) (id string, err error) {
	if id, err = inside(e).TriggerSchedule(ctx, name, overlap, undryable(options, "ops.TriggerSchedule")); err != nil {
		return "", failed(err, "trigger schedule %q", name)
	}
	return id, nil
}

// BackfillSchedule fires the past nominal times between two times, both included, even if
// the schedule is paused, and returns their number, which is at most 1,000. It does not
// fire a nominal time again. overlap says what happens to fires while runs are open;
// empty is schedule.BufferAll, one after the other. Repeated with the same RequestID, it
// fires nothing and returns the same.
func BackfillSchedule(ctx context.Context, e *perdure.Engine, name string, from, until time.Time, overlap schedule.Overlap, options ...ControlOption) (n int, err error) {
	if n, err = inside(e).BackfillSchedule(ctx, name, from, until, overlap, undryable(options, "ops.BackfillSchedule")); err != nil {
		return 0, failed(err, "backfill schedule %q", name)
	}
	return n, nil
}

// DeleteSchedule deletes a schedule. Runs that it started continue; fires that wait are
// dropped. perdure.Schedule with the same name makes a new one, which a repeated request
// with the same RequestID does not delete.
func DeleteSchedule(ctx context.Context, e *perdure.Engine, name string, options ...ControlOption) error {
	return failed(inside(e).DeleteSchedule(ctx, name, undryable(options, "ops.DeleteSchedule")), "delete schedule %q", name)
}
