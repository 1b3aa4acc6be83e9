package api

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
)

func scheduleEndpoints() []endpoint {
	return []endpoint{
		define("GET /api/schedules", "listSchedules", "List schedules: when each fires next, and how its last runs ended.", "schedules", listSchedules),
		define("GET /api/schedules/{name}", "describeSchedule", "Describe a schedule with its fires.", "schedules show", describeSchedule),
		define("PUT /api/schedules/{name}", "setSchedule", "Create a schedule, or set what it does. The same again changes nothing.", "schedules create, schedules update", setSchedule).writes().values(),
	}
}

type scheduleList struct {
	Schedules []view.Schedule `json:"schedules" doc:"by name"`
}

func listSchedules(c *call, _, _ none) (scheduleList, error) {
	all, err := ops.Schedules(c.Context(), c.e)
	return scheduleList{append([]view.Schedule{}, all...)}, err
}

func describeSchedule(c *call, _, _ none) (*view.Schedule, error) {
	return ops.DescribeSchedule(c.Context(), c.e, c.PathValue("name"))
}

type scheduleBody struct {
	Workflow string          `json:"workflow" doc:"name of the definition that it starts" need:"name the definition with workflow"`
	Input    json.RawMessage `json:"input,omitempty" doc:"of the runs that it starts; without one it is null"`
	Spec     schedule.Spec   `json:"spec" doc:"when it fires" need:"say when it fires, as in {\"every\": \"1h\"} or {\"cron\": \"0 8 * * MON-FRI\"}"`
	command.RunSettings
}

type scheduleSet struct {
	Name     string        `json:"name" doc:"as in the path"`
	Workflow string        `json:"workflow" doc:"name of the definition that it starts"`
	Spec     schedule.Spec `json:"spec" doc:"when it fires"`
	Next     []time.Time   `json:"next" doc:"the next nominal times"`
	Warning  string        `json:"warning,omitempty" doc:"says that no node is known that has the workflow"`
}

func setSchedule(c *call, _ none, b scheduleBody) (scheduleSet, error) {
	s := scheduleSet{Name: c.PathValue("name"), Workflow: b.Workflow, Spec: b.Spec, Next: []time.Time{}}
	times, err := b.Spec.Times()
	if err == nil {
		err = perdure.Schedule(c.Context(), c.e, s.Name, command.Declared(b.Workflow), command.OrNull(b.Input), b.Spec, b.Options()...)
	}
	if err != nil {
		return s, err
	}
	s.Next = append(s.Next, times.Upcoming(time.Now(), 3)...)
	s.Warning = c.ask(c.Context()).Unserved(b.Workflow)
	return s, nil
}

// quote quotes a name in a sentence.
func quote(name string) string { return strconv.Quote(name) }
