package command

import (
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

var activityCommands = []Command{
	Row(Command{
		On: Activity, Name: "pause", Did: "paused", Short: "Pause an activity on all nodes", Typed: "pause --activity",
		Means: "No attempt of the activity starts, on any node of the group and across restarts, until it is resumed or the time that you give is over. Attempts that run continue.",
	}, func(a *Ask, p *pauseActivity) (view.SwitchRecord, Effect, error) {
		record, e, err := switchActivity(a, &p.Reason, ops.PauseActivity, ops.For(time.Duration(p.For)))
		if err == nil && p.For > 0 {
			e.say("The pause ends by itself after " + human.Duration(time.Duration(p.For)) + ", unless somebody resumes the activity before.")
		}
		return record, e, err
	}),
	Row(Command{
		On: Activity, Name: "resume", Did: "resumed", Short: "Resume a paused activity", Typed: "resume --activity",
		Means: "Attempts of the activity start again, on all nodes of the group.",
	}, func(a *Ask, p *Reason) (view.SwitchRecord, Effect, error) {
		return switchActivity(a, p, ops.ResumeActivity)
	}),
}

// pauseActivity is what a pause of an activity needs to know.
type pauseActivity struct {
	For param.Span `json:"for,omitempty" flag:"for" help:"end the pause by itself after this {duration}" label:"For" hint:"such as 2h; empty: until it is resumed"`
	Reason
}

// pauseCalls is the same of a pause of calls, which somebody has to end. On the command line both are
// one command.
type pauseCalls struct {
	For param.Span `json:"-" form:"-" flag:"for" help:"with --activity alone: end the pause by itself after this {duration}"`
	Reason
}

// OfActivity makes the parameters of an operation on calls those of the command of its name on the
// activity as a whole.
func OfActivity(params any) any {
	if p, is := params.(*pauseCalls); is {
		return &pauseActivity{p.For, p.Reason}
	}
	return params
}

// switchActivity says of a dry run how many calls wait for the activity.
func switchActivity(a *Ask, r *Reason, set named[view.SwitchRecord], more ...ops.ControlOption) (record view.SwitchRecord, e Effect, err error) {
	record, err = set(a.Ctx, a.Engine, a.Name, append(a.Settings(r), more...)...)
	if e.Warning = record.Warning; err != nil || !r.DryRun {
		return record, e, err
	}
	s, err := ops.Status(a.Ctx, a.Engine)
	if err != nil {
		return record, e, err
	}
	e.Says = []string{"The activity is not paused."}
	for i := range s.Waiting {
		if w := &s.Waiting[i]; w.For == view.WaitActivityPaused && w.Name == a.Name {
			e.Says = []string{"The activity is paused, and " + human.Plural(w.Count, "call waits", "calls wait") + " for it."}
		}
	}
	calls, err := ops.ControlAll(a.Ctx, a.Engine, view.Filter{}, view.CallFilter{Name: a.Name}, ops.Pause(), ops.DryRun())
	if err == nil {
		e.say("It has " + human.Plural(calls.Calls, "call", "calls") + " in " + human.Plural(calls.Runs, "workflow", "workflows") + " that are open.")
	}
	return record, e, err
}
