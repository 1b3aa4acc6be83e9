package api

import (
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

func databaseEndpoints() []endpoint {
	return []endpoint{
		define("GET /api/status", "status", "Overview: who serves, what waits for what since when, and what fails.", "status", func(c *call, _, _ none) (*view.Status, error) {
			return ops.Status(c.Context(), c.e)
		}),
		define("GET /api/canary", "showCanary", "Show which share of new runs begins on which build; canary is null if none is set.", "canary", showCanary),
		define("GET /api/audit", "listAudit", "List who did what in the group, when and why, latest first.", "audit", listAudit),
		define("GET /api/doctor", "doctor", "Read all that is on record, and list what is damaged, missing or left behind. It takes as long as reading the database.", "doctor", doctor).waits(),
	}
}

type auditQuery struct {
	listing.Span
	Limit int `query:"limit" doc:"number of the latest entries, up to 10000; default 100"`
	Runs  int `query:"runs" doc:"of how many runs the history is read, the latest first, up to 100000; default 1000, or fewer that have 10000 turns in all"`

	Before string `query:"before" doc:"searched of the answer before: only what was done to runs that started before that one"`
}

type auditList struct {
	Records []view.AuditRecord `json:"records" doc:"latest first"`
	More    bool               `json:"more" doc:"there are earlier entries than these"`
	Runs    int                `json:"runs" doc:"whose history was read"`
	Unread  bool               `json:"unread" doc:"there are runs that started before those and were not read"`

	Searched string `json:"searched,omitempty" doc:"the last of the runs that were read, if there are more: pass it as before to continue"`
}

func listAudit(c *call, q auditQuery, _ none) (auditList, error) {
	if q.Limit > 10_000 || q.Runs > 100_000 {
		return auditList{}, badRequest("limit is %d and runs %d; at most 10000 entries of 100000 runs are read", q.Limit, q.Runs)
	}
	a, err := ops.Audit(c.Context(), c.e, view.AuditFilter{Since: q.Since.At, Until: q.Until.At, Limit: q.Limit, Runs: q.Runs, Before: q.Before})
	if err != nil {
		return auditList{}, err
	}
	return auditList{append([]view.AuditRecord{}, a.Records...), a.More, a.Runs, a.Unread, a.Searched}, nil
}

type doctorQuery struct {
	Since param.Moment `query:"since" doc:"only runs created at this time or later: RFC 3339, or how long ago"`
	Limit int          `query:"limit" doc:"maximum number of findings, up to 10000; default 1000"`
}

func doctor(c *call, q doctorQuery, _ none) (*view.Checkup, error) {
	if q.Limit > 10_000 {
		return nil, badRequest("the limit is %d; at most 10000 findings are listed", q.Limit)
	}
	return ops.Doctor(c.Context(), c.e, view.DoctorFilter{Since: q.Since.At, Limit: q.Limit})
}

type canaryState struct {
	Canary *view.Canary `json:"canary" doc:"the one in force; null if every build gets new runs"`
}

func showCanary(c *call, _, _ none) (canaryState, error) {
	current, err := ops.Canary(c.Context(), c.e)
	return canaryState{current}, err
}
