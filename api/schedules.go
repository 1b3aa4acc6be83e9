package api

import (
	"encoding/json"
	"net/url"
	"strconv"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
)

func scheduleEndpoints() []endpoint {
	return []endpoint{
		define("GET /api/schedules", "listSchedules", "List schedules: when each fires next, and how its last runs ended.", "schedules", listSchedules),
		define("GET /api/schedules/{name}", "describeSchedule", "Describe a schedule with its fires.", "schedules show", describeSchedule),
		define("PUT /api/schedules/{name}", "setSchedule", "Create a schedule, or set what it does. The same again changes nothing.", "schedules create, schedules update", setSchedule).writes().values(),
		define("DELETE /api/schedules/{name}", "deleteSchedule", "Delete a schedule. Runs that it started continue.", "schedules delete", deleteSchedule).writes().withKey(),
		define("POST /api/schedules/{name}/pause", "pauseSchedule", "Pause a schedule: it fires nothing by itself.", "schedules pause", tellGate("pause", ops.PauseSchedule)).writes().withKey(),
		define("POST /api/schedules/{name}/resume", "resumeSchedule", "Resume a paused schedule.", "schedules resume", tellGate("resume", ops.ResumeSchedule)).writes().withKey(),
		define("POST /api/schedules/{name}/trigger", "triggerSchedule", "Fire a schedule now. Repeating fires again, unless it has the same key.", "schedules trigger", triggerSchedule).writes().withKey(),
		define("POST /api/schedules/{name}/backfill", "backfillSchedule", "Fire past times of a schedule. A time that was fired before is not fired again.", "schedules backfill", backfillSchedule).writes().withKey(),
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
	runSettings
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
		err = perdure.Schedule(c.Context(), c.e, s.Name, named(b.Workflow), orNull(b.Input), b.Spec, b.options()...)
	}
	if err != nil {
		return s, err
	}
	s.Next = append(s.Next, times.Upcoming(time.Now(), 3)...)
	s.Warning = c.unregistered(b.Workflow)
	return s, nil
}

type whyQuery struct {
	Why string `query:"why" doc:"for the audit"`
}

func deleteSchedule(c *call, q whyQuery, _ none) (told, error) {
	name := c.PathValue("name")
	return told{name, "delete", c.who.Name, q.Why}, ops.DeleteSchedule(c.Context(), c.e, name, c.control(q.Why, false)...)
}

type triggerBody struct {
	Overlap schedule.Overlap `json:"overlap,omitempty" doc:"what happens while a run is open; default is what the schedule says"`
	Why     string           `json:"why,omitempty" doc:"for the audit"`
}

type triggered struct {
	Name       string `json:"name" doc:"of the schedule"`
	WorkflowID string `json:"workflow_id" doc:"of the run that the fire starts. It need not exist yet, and never will if the fire is skipped"`
}

func triggerSchedule(c *call, _ none, b triggerBody) (triggered, error) {
	name := c.PathValue("name")
	id, err := ops.TriggerSchedule(c.Context(), c.e, name, b.Overlap, c.control(b.Why, false)...)
	return triggered{name, id}, err
}

type backfillBody struct {
	From    time.Time        `json:"from" doc:"fires nominal times from this one on" need:"say at which time the range begins, as in 2026-11-22T08:00:00Z"`
	Until   time.Time        `json:"until" doc:"fires nominal times up to this one, which has to be in the past" need:"say at which time the range ends, as in 2026-11-22T08:00:00Z"`
	Overlap schedule.Overlap `json:"overlap,omitempty" doc:"default buffer_all: one after the other"`
	Why     string           `json:"why,omitempty" doc:"for the audit"`
}

type backfilled struct {
	Name  string `json:"name" doc:"of the schedule"`
	Times int    `json:"times" doc:"how many nominal times are fired"`
}

func backfillSchedule(c *call, _ none, b backfillBody) (backfilled, error) {
	name := c.PathValue("name")
	n, err := ops.BackfillSchedule(c.Context(), c.e, name, b.From, b.Until, b.Overlap, c.control(b.Why, false)...)
	return backfilled{name, n}, err
}

// quote quotes a name in a sentence.
func quote(name string) string { return strconv.Quote(name) }

// parseQuery parses the parameters of an address.
func parseQuery(raw string) (url.Values, error) {
	given, err := url.ParseQuery(raw)
	if err != nil {
		return nil, badRequest("the parameters of the address cannot be read: %v", err)
	}
	return given, nil
}
