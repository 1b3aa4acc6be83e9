package ops

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/view"
)

// PauseActivity stops calls of an activity from starting attempts, on all nodes of the
// engine's group, until ResumeActivity. Calls that are due stay queued and ask for no
// gate. The time of the pause does not count against QueueTimeout; it counts against
// Within. Running attempts may end. When PauseActivity returns, the pause is durable;
// other nodes follow within about a second. The record warns of a name that no node or worker
// has. With DryRun it returns the record that it
// would write, without a time. With For the pause ends by itself, also while no node runs.
func PauseActivity(ctx context.Context, e *perdure.Engine, name string, options ...ControlOption) (view.SwitchRecord, error) {
	record, err := switchActivity(ctx, e, name, true, unselected(options))
	return record, failed(err, "pause activity %q", name)
}

// ResumeActivity lets calls of an activity continue that is paused, or held because its calls
// ended their process, on all builds. DryRun works as for PauseActivity.
func ResumeActivity(ctx context.Context, e *perdure.Engine, name string, options ...ControlOption) (view.SwitchRecord, error) {
	record, err := switchActivity(ctx, e, name, false, unselected(options))
	return record, failed(err, "resume activity %q", name)
}

func switchActivity(ctx context.Context, e *perdure.Engine, name string, off bool, s settings) (view.SwitchRecord, error) {
	var lasts time.Duration
	if off {
		lasts, s.lasts = s.lasts, 0
	}
	record := view.SwitchRecord{Kind: "activity", Name: name, Paused: off, Request: s.request, By: s.by, Why: s.why}
	var err error
	if !s.dry || s.fault != nil {
		record, err = inside(e).SwitchActivity(ctx, name, off, lasts, s.request, s.whom())
	} else {
		err = history.CheckName("activity name", name)
	}
	if err != nil {
		return record, err
	}
	if warning, err := Unregistered(ctx, e, "activity", name); err == nil { // else it is done all the same
		record.Warning = warning
	}
	return record, nil
}

// PausedActivities returns the activities of the group that are paused, or held because their
// calls ended their process, by name. The Kind of the latter is "crash".
func PausedActivities(ctx context.Context, e *perdure.Engine) ([]view.SwitchRecord, error) {
	records, err := inside(e).Switches(ctx, true)
	return records, failed(err, "switches")
}

// Switches returns the log of pauses and resumptions of activities in the group, with who
// and why, oldest first.
func Switches(ctx context.Context, e *perdure.Engine) ([]view.SwitchRecord, error) {
	records, err := inside(e).Switches(ctx, false)
	return records, failed(err, "switches")
}
