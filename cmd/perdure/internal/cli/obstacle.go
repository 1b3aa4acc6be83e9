package cli

import (
	"context"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// controlled is what was done to a call, with what keeps the call from its next attempt and the
// command that removes it, if there is one.
type controlled struct {
	view.ControlRecord
	Waits        string `json:"waits,omitempty"`
	Next         string `json:"next,omitempty"`
	effect, hint string // of the command
}

// withObstacles adds to records of calls that were to be retried and wait at a gate what they wait for.
func withObstacles(db *source, ctx context.Context, e *perdure.Engine, id string, records []view.ControlRecord) ([]controlled, error) {
	all := make([]controlled, len(records))
	var d *view.Description
	for i, r := range records {
		c := &all[i]
		c.ControlRecord = r
		if r.Operation != "retry-now" || r.Outcome != view.Unchanged {
			continue
		}
		if d == nil {
			var err error
			if d, err = e.Workflow(id).Describe(ctx); err != nil {
				return nil, err
			}
		}
		at := slices.IndexFunc(d.Pending, func(p view.Call) bool { return p.Call == r.Call && p.Gate != nil })
		if at < 0 {
			continue
		}
		gate := d.Pending[at].Gate
		switch c.Waits = wording.AtGate(gate) + "."; {
		case gate.Paused != nil:
			c.effect, c.Next = "To let attempts pass", db.sameDatabase(gateCommand("resume", gate.Name, ""))
		case gate.OpenUntil != nil:
			c.hint = "When that time has come, one attempt passes as a probe; its success closes the breaker."
			c.effect, c.Next = "To send one through now", db.sameDatabase(gateCommand("probe", gate.Name, gate.Key))
		}
	}
	return all, nil
}

// tellObstacles says what blocks calls, and what to type.
func tellObstacles(scr *screen, all []controlled) {
	for _, c := range all {
		if c.Waits == "" {
			continue
		}
		scr.printf("\nCall %d: %s\n", c.Call, c.Waits)
		if c.hint != "" {
			scr.printf("%s\n", c.hint)
		}
		if c.Next != "" {
			scr.printf("%s: %s\n", c.effect, c.Next)
		}
	}
}
