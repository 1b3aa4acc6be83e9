package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
)

var setSchedule = fills(Row(Command{
	On: Schedule, Name: "set", Label: "Edit", Makes: "New schedule", Short: "Create a schedule, or set what it does", NoKey: true,
	Address: "PUT /api/schedules/{name}", Typed: "schedules create",
	Means: "The schedule starts the workflow at its times. What was set before is replaced as a whole; open runs continue. The same again changes nothing.",
}, func(a *Ask, p *ScheduleSetting) (ScheduleSet, Effect, error) { return p.set(a) }), proposeSchedule)

// Firing says when a schedule fires. It has the fields of a spec, in the same order.
type Firing struct {
	Cron     string           `json:"-" flag:"cron" label:"Cron expression" hint:"minute, hour, day of month, month and day of week, as in 30 2 * * *; empty if it fires at an interval" help:"fire at the times of this {expression}"`
	TimeZone string           `json:"-" flag:"zone" label:"Time zone" hint:"of the expression, such as Europe/Paris; empty: UTC" help:"time {zone} of --cron, such as \"Europe/Paris\" (default UTC)"`
	Every    time.Duration    `json:"-" flag:"every" label:"Interval" hint:"such as 15m; empty if it fires by an expression" help:"fire at this {interval}, counted from 1970 in UTC"`
	Offset   time.Duration    `json:"-" flag:"offset" label:"Offset" hint:"shifts the times of the interval" help:"{shift} the times of --every"`
	Jitter   time.Duration    `json:"-" flag:"jitter" label:"Jitter" hint:"it fires up to so much later, at random" help:"fire up to so much {later}, at random"`
	Overlap  schedule.Overlap `json:"-" flag:"overlap" enum:"skip,buffer_one,buffer_all,cancel_other,terminate_other,allow_all" label:"While a run is open" help:"{what} happens to a fire while a run is open: skip, buffer_one, buffer_all, cancel_other, terminate_other or allow_all (default skip)"`
	CatchUp  time.Duration    `json:"-" flag:"catch-up" label:"Catch up" hint:"missed times that are not older are fired; empty: 24h" help:"fire missed times that are not {older} than this (default 24h)"`
}

// ScheduleSetting is what a schedule starts, and when.
type ScheduleSetting struct {
	Workflow string          `json:"workflow" arg:"WORKFLOW" label:"Workflow" help:"name of the definition that it starts" need:"name the definition with workflow"`
	Input    json.RawMessage `json:"input,omitempty" arg:"[JSON]" kind:"text" label:"Input, as JSON" help:"of the runs that it starts; without one it is null"`
	Spec     schedule.Spec   `json:"spec" doc:"when it fires" need:"say when it fires, as in {\"every\": \"1h\"} or {\"cron\": \"0 8 * * MON-FRI\"}"`
	Firing                   // takes the place of Spec, unless it is zero
	RunSettings
	UnchangedSince param.Moment `json:"unchanged_since,omitzero" form:"hidden" help:"refuse unless it was set last at this {time}: its set, as it was read"`
	Dry
}

// ScheduleSet is the result of setting a schedule.
type ScheduleSet struct {
	Name     string        `json:"name" doc:"as in the path"`
	Workflow string        `json:"workflow" doc:"name of the definition that it starts"`
	Spec     schedule.Spec `json:"spec" doc:"when it fires"`
	Next     []time.Time   `json:"next" doc:"the next nominal times"`
	Warning  string        `json:"warning,omitempty" doc:"says that no node is known that has the workflow"`
	DryRun   bool          `json:"dry_run,omitempty" doc:"nothing was set"`
}

// SettingOf is what a schedule is set to, and what of that cannot be read here.
func SettingOf(s *view.Schedule) (p ScheduleSetting, unread []*param.Wrong) {
	p = ScheduleSetting{Workflow: s.Workflow, UnchangedSince: param.Moment{At: s.Set}, Firing: Firing(s.Spec), RunSettings: RunSettings{
		Priority: s.Priority, Key: s.Key, Weight: s.Weight, RunTimeout: param.Span(s.RunTimeout), ChainTimeout: param.Span(s.ChainTimeout), Attributes: s.Attributes,
	}}
	if s.Retry != nil {
		p.Retry = &Policy{*s.Retry}
	}
	for _, value := range []struct {
		what string
		from view.Payload
		to   *json.RawMessage
	}{{"input", s.Input, &p.Input}, {"memo", s.Memo, &p.Memo}} {
		if *value.to = value.from.JSON; value.from.JSON == nil && !value.from.Absent() {
			unread = append(unread, param.Bad(value.what, "give another one", "of the schedule is no JSON that can be read here"))
		}
	}
	return p, unread
}

func (p *ScheduleSetting) of(string) {
	if p.Firing != (Firing{}) {
		p.Spec = schedule.Spec(p.Firing)
	}
}

// set creates the schedule that the Ask names, or sets what it does.
func (p *ScheduleSetting) set(a *Ask) (s ScheduleSet, e Effect, err error) {
	nominal, err := p.Spec.Times()
	if err == nil {
		err = p.Spec.Validate()
	}
	if err != nil {
		return s, e, err
	}
	set := ops.ScheduleSetting{Workflow: p.Workflow, Input: OrNull(p.Input), Spec: p.Spec, Options: p.Options(), UnchangedSince: p.UnchangedSince.At}
	err = ops.SetSchedule(a.Ctx, a.Engine, a.Name, set, a.Settings(&Reason{Dry: p.Dry})...)
	if err == nil && p.DryRun {
		err = p.differ(a, &e)
	}
	if err != nil {
		return s, e, err
	}
	s = ScheduleSet{a.Name, p.Workflow, p.Spec, append([]time.Time{}, nominal.Upcoming(a.Now, 3)...), a.Unserved(p.Workflow), p.DryRun}
	e.Warning = s.Warning
	var next []string
	for _, at := range s.Next {
		next = append(next, human.Time(at)+" ("+human.When(at, a.Now)+")")
	}
	times := "Its next times: " + strings.Join(next, ", ") + "."
	if e.Done = "Schedule " + a.Name + " starts workflow " + s.Workflow + ". " + times; p.DryRun {
		e.say(times)
	}
	return s, e, nil
}

// differ says what would be different.
func (p *ScheduleSetting) differ(a *Ask, e *Effect) error {
	now, err := ops.DescribeSchedule(a.Ctx, a.Engine, a.Name)
	switch {
	case errors.Is(err, perdure.ErrNotFound):
		e.say("There is no schedule of that name yet.")
		return nil
	case err != nil:
		return err
	}
	old, _ := SettingOf(now) // what cannot be read is different
	own := *p
	own.Firing, own.DryRun, own.UnchangedSince = Firing(own.Spec), false, old.UnchangedSince
	own.Input = OrNull(own.Input)
	own.Overlap, own.CatchUp = cmp.Or(own.Overlap, schedule.Skip), cmp.Or(own.CatchUp, schedule.DefaultCatchUp)
	for _, one := range param.Of(reflect.TypeFor[ScheduleSetting]()) {
		e.differ(one.Label, cmp.Or(one.Text(&old), "none"), cmp.Or(one.Text(&own), "none"))
	}
	e.Same = len(e.Diff) == 0
	return nil
}

// proposeSchedule fills the form with what the schedule does.
func proposeSchedule(a *Ask, p *ScheduleSetting) (Form, error) {
	form := Form{Choices: map[string][]Choice{"overlap": overlapChoices("")[1:]}}
	if a.Name == "" {
		return form, nil
	}
	s, err := ops.DescribeSchedule(a.Ctx, a.Engine, a.Name)
	if errors.Is(err, perdure.ErrNotFound) { // it is to be made
		return form, nil
	}
	if err != nil {
		return form, err
	}
	var unread []*param.Wrong
	if *p, unread = SettingOf(s); len(unread) > 0 {
		return form, unread[0]
	}
	if n := len(p.Input) + len(p.Memo); n > mostInForm {
		return form, param.Bad("input", "change it from the command line: perdure schedules update "+human.ShellWord(a.Name), "has %s bytes, which is too much for a form", human.Count(n))
	}
	return form, nil
}
