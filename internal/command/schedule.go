package command

import (
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/schedule"
)

var scheduleCommands = []Command{
	setSchedule,
	triggerSchedule,
	backfillSchedule,
	Row(Command{
		On: Schedule, Name: "pause", Did: "paused", Short: "Pause a schedule",
		Means:   "The schedule fires nothing by itself until it is resumed. Fires that wait are skipped; open runs continue.",
		Example: `  perdure schedules pause nightly --reason "the warehouse is closed"`,
	}, tell("pause", ops.PauseSchedule, openOf)),
	Row(Command{
		On: Schedule, Name: "resume", Did: "resumed", Short: "Resume a paused schedule",
		Means:   "The schedule fires again, from its next time on. Times in the pause are not fired: that is what a backfill does.",
		Example: `  perdure schedules resume nightly --reason "the warehouse is open"`,
	}, tell("resume", ops.ResumeSchedule, openOf)),
	Row(Command{
		On: Schedule, Name: "delete", Did: "deleted", Short: "Delete a schedule", Danger: true, Gone: true, Address: "DELETE /api/schedules/{name}",
		Means:   "The schedule fires nothing any more. Runs that it started continue; fires that wait are dropped.",
		Example: `  perdure schedules delete nightly --reason "the report is no longer read"`,
	}, tell("delete", ops.DeleteSchedule, openOf)),
}

// openOf says what of a schedule is open.
func openOf(a *Ask) ([]string, error) {
	s, err := ops.DescribeSchedule(a.Ctx, a.Engine, a.Name)
	if err != nil {
		return nil, err
	}
	says := []string{human.Plural(len(s.Open), "run is open", "runs are open") + ", " + human.Plural(len(s.Waiting), "fire waits", "fires wait") + "."}
	if len(s.Next) > 0 {
		says = append(says, "The next time is "+human.Time(s.Next[0].Due)+".")
	}
	return says, nil
}

var triggerSchedule = fills(Row(Command{
	On: Schedule, Name: "trigger", Label: "Trigger now", Short: "Fire a schedule now",
	Means: "The schedule fires now, even if it is paused. If a run is open, the overlap policy says what happens.",
	Example: `  perdure schedules trigger nightly
  perdure schedules trigger nightly --overlap allow_all --reason "the last report was cut off"`,
}, func(a *Ask, p *trigger) (fired Triggered, e Effect, err error) {
	fired = Triggered{Name: a.Name, DryRun: p.DryRun}
	if !p.DryRun {
		fired.WorkflowID, err = ops.TriggerSchedule(a.Ctx, a.Engine, a.Name, p.Overlap, a.Settings(&p.Reason)...)
		e.Run = fired.WorkflowID
		e.Done = "Schedule " + a.Name + " fires."
		return fired, e, err
	}
	s, err := ops.DescribeSchedule(a.Ctx, a.Engine, a.Name)
	if err != nil {
		return fired, e, err
	}
	e.say("It starts workflow " + s.Workflow + ".")
	if n := len(s.Open); n > 0 {
		e.say(human.Plural(n, "run is open", "runs are open") + ": " + wording.Overlaps[wording.OverlapOf(p.Overlap, s.Spec)] + ".")
	}
	fired.Says = e.Says
	return fired, e, nil
}), func(a *Ask, p *trigger) (Form, error) {
	s, err := ops.DescribeSchedule(a.Ctx, a.Engine, a.Name)
	if err != nil {
		return Form{}, err
	}
	return Form{Choices: map[string][]Choice{"overlap": overlapChoices("as the schedule says: " + string(wording.OverlapOf("", s.Spec)))}}, nil
})

type trigger struct {
	Overlap schedule.Overlap `json:"overlap,omitempty" enum:"skip,buffer_one,buffer_all,cancel_other,terminate_other,allow_all" label:"While a run is open" help:"{what} happens to the fire while a run is open: skip, buffer_one, buffer_all, cancel_other, terminate_other or allow_all; default is what the schedule says"`
	Reason
}

// Triggered is the result of a trigger.
type Triggered struct {
	Name       string   `json:"name" doc:"of the schedule"`
	WorkflowID string   `json:"workflow_id,omitempty" doc:"of the run that the fire starts. It need not exist yet, and never will if the fire is skipped"`
	DryRun     bool     `json:"dry_run,omitempty" doc:"nothing was fired"`
	Says       []string `json:"says,omitempty" doc:"of a dry run: what it comes to, in sentences"`
}

// overlapChoices are the overlap policies, after what happens if none is chosen.
func overlapChoices(standard string) []Choice {
	choices := []Choice{{"", standard}}
	for _, o := range wording.OverlapOrder {
		choices = append(choices, Choice{string(o), string(o) + ": " + wording.Overlaps[o]})
	}
	return choices
}

// maxBackfill is how many times a backfill may have.
const maxBackfill = 1000

var backfillSchedule = fills(Row(Command{
	On: Schedule, Name: "backfill", Short: "Fire past times of a schedule",
	Means: "The schedule fires its times of the past between two moments, both included, even if it is paused. A time that was fired before is not fired again.",
	More:  "Unless --overlap says otherwise, the runs follow each other.",
	Example: `  perdure schedules backfill nightly --from 2026-11-01T00:00:00Z --until 2026-11-20T00:00:00Z
  perdure schedules backfill nightly --from 7d --until 1d --dry-run`,
}, func(a *Ask, p *backfill) (done Backfilled, e Effect, err error) {
	done = Backfilled{Name: a.Name, DryRun: p.DryRun}
	if p.Until.At.Before(p.From.At) {
		return done, e, param.Bad("until", "exchange the two times", "is before from: the span ends before it begins")
	}
	if !p.DryRun {
		done.Times, err = ops.BackfillSchedule(a.Ctx, a.Engine, a.Name, p.From.At, p.Until.At, p.Overlap, a.Settings(&p.Reason)...)
		e.Done = "Schedule " + a.Name + " fires " + human.Plural(done.Times, "past time", "past times") + "."
		return done, e, err
	}
	s, err := ops.DescribeSchedule(a.Ctx, a.Engine, a.Name)
	if err != nil {
		return done, e, err
	}
	times, err := s.Spec.Times()
	if err != nil {
		return done, e, err
	}
	var all []time.Time
	for _, t := range times.Upcoming(p.From.At.Add(-1), maxBackfill+1) {
		if !t.After(p.Until.At) {
			all = append(all, t)
		}
	}
	switch done.Times = len(all); {
	case done.Times == 0:
		e.Same = true
		e.say("The schedule has no time in that span.")
	case done.Times > maxBackfill:
		return done, e, param.Bad("from", "choose a shorter one, and backfill the rest then", "is too early: the schedule has more than %s times in that span", human.Count(maxBackfill))
	default:
		e.say(human.Plural(done.Times, "time", "times") + ", the first " + human.Time(all[0]) + ", the last " + human.Time(all[len(all)-1]) + ". Those that were fired before are left out.")
	}
	return done, e, nil
}), func(a *Ask, _ *backfill) (Form, error) {
	return Form{Button: "Show the times", Choices: map[string][]Choice{"overlap": overlapChoices("buffer_all: " + wording.Overlaps[schedule.BufferAll])}}, nil
})

type backfill struct {
	From    param.Moment     `json:"from,omitzero" label:"From" hint:"how long ago (90m, 7d), or a time such as 2026-11-22T08:00:00Z" help:"first {time}, as in 2026-11-22T08:00:00Z, or how long ago it was" need:"say at which time the range begins, as in 2026-11-22T08:00:00Z"`
	Until   param.Moment     `json:"until,omitzero" label:"Until" hint:"how long ago (90m, 7d), or a time such as 2026-11-22T08:00:00Z" help:"last {time}, which has to be in the past" need:"say at which time the range ends, as in 2026-11-22T08:00:00Z"`
	Overlap schedule.Overlap `json:"overlap,omitempty" enum:"skip,buffer_one,buffer_all,cancel_other,terminate_other,allow_all" label:"While a run is open" help:"{what} happens to a fire while a run is open: skip, buffer_one, buffer_all, cancel_other, terminate_other or allow_all (default buffer_all)"`
	Reason
}

// Backfilled is the result of a backfill.
type Backfilled struct {
	Name   string `json:"name" doc:"of the schedule"`
	Times  int    `json:"times" doc:"how many nominal times are fired; of a dry run with those that were fired before"`
	DryRun bool   `json:"dry_run,omitempty" doc:"nothing was fired"`
}
