package dashboard

import (
	"cmp"
	"html/template"
	"net/url"
	"strings"

	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// workflowsPage lists the workflows of the group.
type workflowsPage struct {
	Rows   []workflowRow
	Starts bool // the caller may start runs
	More   bool // not all runs were counted
	Most   int
}

type workflowRow struct {
	*view.WorkflowStats
	OpenRuns, HeldRuns, FailedRuns template.URL
	Buttons                        []button
}

func workflows(q *request) (any, error) {
	stats, err := listing.WorkflowStats.Read(q.ctx, q.engine, &listing.Workflows{}, q.now)
	if err != nil {
		return nil, err
	}
	p := &workflowsPage{Starts: q.operator(), Most: view.MaxWorkflowRuns, More: len(stats) > 0 && stats[0].AtLeast}
	for i := range stats {
		w := &stats[i]
		runs := func(status ...string) template.URL {
			return linkTo("runs", url.Values{"workflow": {w.Workflow}, "status": status})
		}
		row := workflowRow{
			WorkflowStats: w, OpenRuns: runs(wording.OpenStatuses...), HeldRuns: runs(view.StatusParked, view.StatusWaitingForCode), FailedRuns: runs(view.StatusFailed, view.StatusTimedOut),
		}
		if q.operator() && !strings.HasSuffix(w.Workflow, view.FlowEnding) { // a file is started from the command line
			row.Buttons = changeButtons(command.Workflow, w.Workflow, "start")
		}
		p.Rows = append(p.Rows, row)
	}
	return p, nil
}

// startLike is the button that leads to the form that starts another run, filled in as a run
// began.
func startLike(d *view.Description) button {
	b := buttonOf(command.Find(command.Workflow, "start"), "", link("change", "kind", string(command.Workflow), "do", "start", "name", cmp.Or(d.Definition, d.Workflow), "like", d.WorkflowID))
	b.Label, b.Says = "Start another", "Start another workflow like this one"
	return b
}
