package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

var recordCommands = []Command{
	Row(Command{
		On: Records, Name: "gc", Short: "Delete closed workflows", Danger: true, NoKey: true, Address: "POST /api/sweep",
		Means: "Workflows that closed longer ago than said are deleted, with their histories and attempts. Open runs are never deleted. The earlier runs of a chain go with its last one, unless those of chains that stay are named. Engines may run meanwhile: runs are deleted a few at a time.",
		More:  "Engines can do the same by themselves: perdure.Retain",
		Example: `  perdure gc --older-than 30d --dry-run
  perdure gc --older-than 30d --status completed,canceled
  perdure gc --statistics 400d --switches 90d`,
	}, sweepRecords),
}

// sweep says what to delete: by how runs ended, or by an age for several ways.
type sweep struct {
	OlderThan  param.Age `json:"-" flag:"older-than" help:"delete what closed longer ago than this {duration}: 90m, 24h, 30d"`
	Status     []string  `json:"-" flag:"status" enum:"completed,failed,canceled,terminated,timed-out" help:"only what closed with this {status}; several with commas: completed, failed, canceled, terminated, timed-out"`
	Completed  param.Age `json:"completed,omitempty" doc:"delete what completed so long ago; without it, none"`
	Failed     param.Age `json:"failed,omitempty" doc:"delete what failed so long ago; without it, none"`
	Canceled   param.Age `json:"canceled,omitempty" doc:"delete what was canceled so long ago; without it, none"`
	Terminated param.Age `json:"terminated,omitempty" doc:"delete what was terminated so long ago; without it, none"`
	TimedOut   param.Age `json:"timed_out,omitempty" doc:"delete what timed out so long ago; without it, none"`
	Continued  param.Age `json:"continued,omitempty" help:"delete earlier runs of chains that closed longer ago than this {duration}, even of open chains"`
	Statistics param.Age `json:"statistics,omitempty" help:"delete counters of perdure stats older than this {duration}"`
	Switches   param.Age `json:"switches,omitempty" help:"delete superseded log entries of paused activities older than this {duration}"`
	Dry
}

// OneOf says that nothing is deleted unless it is named.
func (s sweep) OneOf() ([]string, string) {
	if s.OlderThan != 0 || len(s.Status) > 0 {
		return nil, ""
	}
	return []string{"completed", "failed", "canceled", "terminated", "timed_out", "continued", "statistics", "switches"}, "say for how long what is kept, such as 30d"
}

// retention returns the retention that is meant.
func (s *sweep) retention() (view.Retention, error) {
	keep := view.Retention{
		Completed: time.Duration(s.Completed), Failed: time.Duration(s.Failed), Canceled: time.Duration(s.Canceled), Terminated: time.Duration(s.Terminated),
		TimedOut: time.Duration(s.TimedOut), Continued: time.Duration(s.Continued), Statistics: time.Duration(s.Statistics), Switches: time.Duration(s.Switches),
	}
	if s.OlderThan == 0 && len(s.Status) > 0 {
		return keep, param.Bad("older-than", "a status alone does not say what to delete: give an age as well", "is missing")
	}
	ends := map[string]*time.Duration{
		"completed": &keep.Completed, "failed": &keep.Failed, "canceled": &keep.Canceled, "terminated": &keep.Terminated, "timed-out": &keep.TimedOut,
	}
	for _, name := range s.Status {
		if ends[name] == nil {
			return keep, param.Bad("status", "use one of: completed, failed, canceled, terminated, timed-out", "is %q, with which no workflow closes", param.Clip(name))
		}
	}
	for name, d := range ends {
		if s.OlderThan != 0 && (len(s.Status) == 0 || slices.Contains(s.Status, name)) {
			*d = time.Duration(s.OlderThan)
		}
	}
	return keep, nil
}

func sweepRecords(a *Ask, p *sweep) (r view.SweepResult, e Effect, err error) {
	keep, err := p.retention()
	if err != nil {
		return r, e, err
	}
	do := ops.Sweep
	if p.DryRun {
		do = ops.PreviewSweep
	}
	if r, err = do(a.Ctx, a.Engine, keep); err != nil {
		return r, e, err
	}
	var parts []string
	for _, s := range slices.Sorted(maps.Keys(r.Status)) {
		parts = append(parts, fmt.Sprintf("%d %s", r.Status[s], s))
	}
	which := ""
	if len(parts) > 0 {
		which = " (" + strings.Join(parts, ", ") + ")"
	}
	if e.Done = "Deleted " + human.Plural(r.Runs, "run", "runs") + which + "."; p.DryRun {
		e.say(human.Plural(r.Runs, "run", "runs") + " would be deleted" + which + ".")
	}
	return r, e, nil
}
