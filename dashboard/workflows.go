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
	Rows   []view.WorkflowStats
	Starts bool // the caller may start runs
	More   bool // not all runs were counted
	Most   int
}

func workflows(q *request) (any, error) {
	stats, err := listing.WorkflowStats.Read(q.ctx, q.engine, &listing.Workflows{}, q.now)
	if err != nil {
		return nil, err
	}
	return &workflowsPage{Rows: stats, Starts: q.operator(), Most: view.MaxWorkflowRuns, More: len(stats) > 0 && stats[0].AtLeast}, nil
}

// openRuns leads to the open runs of a workflow.
func openRuns(workflow string) template.URL {
	return linkTo("runs", url.Values{"workflow": {workflow}, "status": wording.OpenStatuses})
}

// startButtons lead to the form that starts a workflow. A file is started from the command line.
func startButtons(workflow string) []button {
	if strings.HasSuffix(workflow, view.FlowEnding) {
		return nil
	}
	return changeButtons(command.Workflow, workflow, "start")
}

// startLike is the button that leads to the form that starts another run, filled in as a run
// began.
func startLike(d *view.Description) button {
	b := buttonOf(command.Find(command.Workflow, "start"), "", link("change", "kind", string(command.Workflow), "do", "start", "name", cmp.Or(d.Definition, d.Workflow), "like", d.WorkflowID))
	b.Label, b.Says = "Start another", "Start another workflow like this one"
	return b
}
