package cli

import (
	"context"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
)

// continuedRuns returns the runs of a workflow that went on as new by itself, the oldest
// first and the one of now last; none if it did not. Together they are what a person means
// by the workflow.
func continuedRuns(ctx context.Context, e *perdure.Engine, id string) ([]view.ChainRun, error) {
	d, err := e.Workflow(id).Describe(ctx)
	if err != nil {
		return nil, err
	}
	first := len(d.Chain) - 1
	for first > 0 && d.Chain[first-1].Status == view.StatusContinued {
		first--
	}
	if first < 0 || first == len(d.Chain)-1 {
		return nil, nil
	}
	return d.Chain[first:], nil
}

// eachRun shows something of each run of a workflow that went on as new, in their order.
// Show returns how much there was.
func eachRun(scr *screen, id, what string, runs []view.ChainRun, show func(run, heading string) (int, error)) error {
	all := 0
	for _, run := range runs {
		n, err := show(run.RunID, fmt.Sprintf("Run %d of the workflow, %s, since %s:\n\n", run.Number, run.RunID, human.Time(run.Created)))
		if err != nil {
			return err
		}
		all += n
	}
	if before := runs[0].Number - 1; before > 0 {
		scr.printf("%s before these; see: --run ID\n", human.Plural(before, "run is", "runs are"))
	}
	if all == 0 {
		scr.printf("None of the runs of workflow %s has %s that matches.\n", id, what)
	}
	return nil
}
