package api

import (
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

func databaseEndpoints() []endpoint {
	return []endpoint{
		define("GET /api/status", "status", "Overview: who serves, what waits for what since when, and what fails.", "status", func(c *call, _, _ none) (*view.Status, error) {
			return ops.Status(c.Context(), c.e)
		}),
		define("GET /api/canary", "showCanary", "Show which share of new runs begins on which build; canary is null if none is set.", "canary", showCanary),
		define("POST /api/canary", "setCanary", "Let a share of the runs that begin from now on begin at nodes of one build, the others at nodes of other builds.", "canary --share", setCanary).writes().withKey(),
		define("POST /api/canary/end", "endCanary", "Let new runs begin at nodes of whatever build.", "canary --end", endCanary).writes().withKey(),
		define("GET /api/nodes", "listNodes", "List the nodes of all groups.", "nodes", listNodes),
		define("GET /api/audit", "listAudit", "List who did what in the group, when and why, latest first.", "audit", listAudit),
		define("GET /api/doctor", "doctor", "Read all that is on record, and list what is damaged, missing or left behind. It takes as long as reading the database.", "doctor", doctor).waits(),
		define("POST /api/sweep", "sweep", "Delete closed runs and records that are older than said; with dry_run only count them.", "gc", sweep).writes().waits(),
	}
}

type nodeList struct {
	Nodes []view.Node `json:"nodes" doc:"of all groups, by the time they joined, with those that left or died recently"`
}

func listNodes(c *call, _, _ none) (nodeList, error) {
	nodes, err := ops.Nodes(c.Context(), c.e)
	return nodeList{append([]view.Node{}, nodes...)}, err
}

type auditQuery struct {
	Since moment `query:"since" doc:"of this time or later: RFC 3339, or how long ago"`
	Until moment `query:"until" doc:"before this time"`
	Limit int    `query:"limit" doc:"the latest so many, up to 10000; default 100"`
	Runs  int    `query:"runs" doc:"of how many runs the history is read, the latest first, up to 100000; default 1000, or fewer that have 10000 turns in all"`

	Before string `query:"before" doc:"searched of the answer before: only what was done to runs that started before that one"`
}

type auditList struct {
	Records []view.AuditRecord `json:"records" doc:"latest first"`
	More    bool               `json:"more" doc:"there are earlier entries than these"`
	Runs    int                `json:"runs" doc:"whose history was read"`
	Unread  bool               `json:"unread" doc:"there are runs that started before those and were not read"`

	Searched string `json:"searched,omitempty" doc:"the last of the runs that were read, if there are more: before goes on there"`
}

func listAudit(c *call, q auditQuery, _ none) (auditList, error) {
	if q.Limit > 10_000 || q.Runs > 100_000 {
		return auditList{}, badRequest("limit is %d and runs %d; at most 10000 entries of 100000 runs are read", q.Limit, q.Runs)
	}
	a, err := ops.Audit(c.Context(), c.e, view.AuditFilter{Since: q.Since.at, Until: q.Until.at, Limit: q.Limit, Runs: q.Runs, Before: q.Before})
	if err != nil {
		return auditList{}, err
	}
	return auditList{append([]view.AuditRecord{}, a.Records...), a.More, a.Runs, a.Unread, a.Searched}, nil
}

type doctorQuery struct {
	Since moment `query:"since" doc:"only runs created at this time or later: RFC 3339, or how long ago"`
	Limit int    `query:"limit" doc:"at most so many findings, up to 10000; default 1000"`
}

func doctor(c *call, q doctorQuery, _ none) (*view.Checkup, error) {
	if q.Limit > 10_000 {
		return nil, badRequest("the limit is %d; at most 10000 findings are listed", q.Limit)
	}
	return ops.Doctor(c.Context(), c.e, view.DoctorFilter{Since: q.Since.at, Limit: q.Limit})
}

// sweepBody is a view.Retention: 0 keeps the runs.
type sweepBody struct {
	Completed  span `json:"completed,omitempty" doc:"delete what completed so long ago; without it, none"`
	Failed     span `json:"failed,omitempty" doc:"delete what failed so long ago; without it, none"`
	Canceled   span `json:"canceled,omitempty" doc:"delete what was canceled so long ago; without it, none"`
	Terminated span `json:"terminated,omitempty" doc:"delete what was terminated so long ago; without it, none"`
	TimedOut   span `json:"timed_out,omitempty" doc:"delete what timed out so long ago; without it, none"`
	Continued  span `json:"continued,omitempty" doc:"delete earlier runs of chains that stay, if they ended so long ago; without it, none"`
	Statistics span `json:"statistics,omitempty" doc:"delete hourly counters that are so old; without it, none"`
	Switches   span `json:"switches,omitempty" doc:"delete log entries of paused activities that later ones have replaced so long ago; without it, none"`
	DryRun     bool `json:"dry_run,omitempty" doc:"only count what would be deleted"`
}

func (sweepBody) oneOf() ([]string, string) {
	return []string{"completed", "failed", "canceled", "terminated", "timed_out", "continued", "statistics", "switches"},
		"say for how long what is kept, as in {\"completed\": \"30d\"}"
}

func sweep(c *call, _ none, b sweepBody) (view.SweepResult, error) {
	keep := view.Retention{
		Completed: b.Completed.duration(), Failed: b.Failed.duration(), Canceled: b.Canceled.duration(), Terminated: b.Terminated.duration(),
		TimedOut: b.TimedOut.duration(), Continued: b.Continued.duration(), Statistics: b.Statistics.duration(), Switches: b.Switches.duration(),
	}
	if b.DryRun {
		return ops.PreviewSweep(c.Context(), c.e, keep)
	}
	return ops.Sweep(c.Context(), c.e, keep)
}

func activityEndpoints() []endpoint {
	return []endpoint{
		define("GET /api/activities/paused", "listPausedActivities", "List the activities that are paused in the whole group.", "status", listPaused),
		define("GET /api/activities/switches", "listSwitches", "List which activities were paused and resumed, by whom and why, oldest first.", "audit", listSwitches),
		define("POST /api/activities/{name}/pause", "pauseActivity", "Pause an activity on all nodes: none of its calls starts an attempt.", "pause --activity", pauseActivity).writes().withKey(),
		define("POST /api/activities/{name}/resume", "resumeActivity", "Resume a paused activity.", "resume --activity", resumeActivity).writes().withKey(),
	}
}

type switchList struct {
	Activities []view.SwitchRecord `json:"activities" doc:"those that are paused, by name; or the log, oldest first"`
}

func listPaused(c *call, _, _ none) (switchList, error) {
	all, err := ops.PausedActivities(c.Context(), c.e)
	return switchList{append([]view.SwitchRecord{}, all...)}, err
}

func listSwitches(c *call, _, _ none) (switchList, error) {
	all, err := ops.Switches(c.Context(), c.e)
	return switchList{append([]view.SwitchRecord{}, all...)}, err
}

// whyBody says why something is done.
type whyBody struct {
	Why    string `json:"why,omitempty" doc:"for the audit"`
	DryRun bool   `json:"dry_run,omitempty" doc:"only say what it would be"`
}

func pauseActivity(c *call, _ none, b whyBody) (view.SwitchRecord, error) {
	return ops.PauseActivity(c.Context(), c.e, c.PathValue("name"), c.control(b.Why, b.DryRun)...)
}

func resumeActivity(c *call, _ none, b whyBody) (view.SwitchRecord, error) {
	return ops.ResumeActivity(c.Context(), c.e, c.PathValue("name"), c.control(b.Why, b.DryRun)...)
}

type canaryState struct {
	Canary *view.Canary `json:"canary" doc:"the one in force; null if every build gets new runs"`
}

func showCanary(c *call, _, _ none) (canaryState, error) {
	current, err := ops.Canary(c.Context(), c.e)
	return canaryState{current}, err
}

type canaryBody struct {
	Build   string   `json:"build" doc:"as nodes have it" need:"name the build on which the share begins, as nodes show it"`
	Percent *float64 `json:"percent" doc:"of the runs that begin, from 0 to 100" need:"say which share of new runs begins on the build, from 0 to 100"`
	whyBody
}

func setCanary(c *call, _ none, b canaryBody) (view.Canary, error) {
	return ops.SetCanary(c.Context(), c.e, b.Build, *b.Percent, c.control(b.Why, b.DryRun)...)
}

func endCanary(c *call, _ none, b whyBody) (view.Canary, error) {
	return ops.EndCanary(c.Context(), c.e, c.control(b.Why, b.DryRun)...)
}
