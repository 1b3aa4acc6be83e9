package cli

import (
	"context"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// obstacle is what keeps a resumed call from its next attempt, and the command that removes
// it, if there is one.
type obstacle struct {
	call         int64
	Waits        string `json:"waits,omitempty"`
	Next         string `json:"next,omitempty"`
	effect, hint string // of the command
}

// controlled is a record for programs, with what blocks the call.
type controlled struct {
	view.ControlRecord
	obstacle
}

// inTheWay returns what keeps calls that wait at a gate from their next attempt.
func inTheWay(db *source, ctx context.Context, e *perdure.Engine, id string, records []view.ControlRecord) ([]obstacle, error) {
	waits := func(r view.ControlRecord) bool {
		return r.Operation == "retry-now" && r.Outcome == view.Unchanged
	}
	if !slices.ContainsFunc(records, waits) {
		return nil, nil
	}
	d, err := e.Workflow(id).Describe(ctx)
	if err != nil {
		return nil, err
	}
	var way []obstacle
	for _, p := range d.Pending {
		if p.Gate == nil || !slices.ContainsFunc(records, func(r view.ControlRecord) bool { return waits(r) && r.Call == p.Call }) {
			continue
		}
		o := obstacle{call: p.Call, Waits: wording.AtGate(p.Gate) + "."}
		switch {
		case p.Gate.Paused != nil:
			o.effect, o.Next = "To let attempts pass", db.sameDatabase(gateCommand("resume", p.Gate.Name, ""))
		case p.Gate.OpenUntil != nil:
			o.hint = "When that time has come, one attempt passes as a probe; its success closes the breaker."
			o.effect, o.Next = "To send one through now", db.sameDatabase(gateCommand("probe", p.Gate.Name, p.Gate.Key))
		}
		way = append(way, o)
	}
	return way, nil
}

// withObstacles adds to each record what blocks its call.
func withObstacles(records []view.ControlRecord, way []obstacle) []controlled {
	all := make([]controlled, len(records))
	for i, r := range records {
		all[i].ControlRecord = r
		if at := slices.IndexFunc(way, func(o obstacle) bool { return o.call == r.Call }); at >= 0 {
			all[i].obstacle = way[at]
		}
	}
	return all
}

// tellObstacles says what blocks calls, and what to type.
func tellObstacles(scr *screen, way []obstacle) {
	for _, o := range way {
		scr.printf("\nCall %d: %s\n", o.call, o.Waits)
		if o.hint != "" {
			scr.printf("%s\n", o.hint)
		}
		if o.Next != "" {
			scr.printf("%s: %s\n", o.effect, o.Next)
		}
	}
}
