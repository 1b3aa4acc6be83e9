package command

import (
	"encoding/json"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/schedule"
)

// ScheduleSetting is what a schedule starts, and when.
type ScheduleSetting struct {
	Workflow string          `json:"workflow" doc:"name of the definition that it starts" need:"name the definition with workflow"`
	Input    json.RawMessage `json:"input,omitempty" doc:"of the runs that it starts; without one it is null"`
	Spec     schedule.Spec   `json:"spec" doc:"when it fires" need:"say when it fires, as in {\"every\": \"1h\"} or {\"cron\": \"0 8 * * MON-FRI\"}"`
	RunSettings
}

// ScheduleSet is the result of setting a schedule.
type ScheduleSet struct {
	Name     string        `json:"name" doc:"as in the path"`
	Workflow string        `json:"workflow" doc:"name of the definition that it starts"`
	Spec     schedule.Spec `json:"spec" doc:"when it fires"`
	Next     []time.Time   `json:"next" doc:"the next nominal times"`
	Warning  string        `json:"warning,omitempty" doc:"says that no node is known that has the workflow"`
}

// Set creates the schedule that the Ask names, or sets what it does.
func (p *ScheduleSetting) Set(a *Ask) (s ScheduleSet, err error) {
	times, err := p.Spec.Times()
	if err == nil {
		err = perdure.Schedule(a.Ctx, a.Engine, a.Name, Declared(p.Workflow), OrNull(p.Input), p.Spec, p.Options()...)
	}
	if err != nil {
		return s, err
	}
	return ScheduleSet{a.Name, p.Workflow, p.Spec, append([]time.Time{}, times.Upcoming(a.Now, 3)...), a.Unserved(p.Workflow)}, nil
}
