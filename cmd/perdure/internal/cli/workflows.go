package cli

import (
	"context"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func workflowsCommand(scr *screen, db *source) *cobra.Command {
	var opt listing.Workflows
	cmd := &cobra.Command{
		Use:   "workflows",
		Short: "List the workflows: who has them, and how their runs go",
		Long: fmt.Sprintf(`List the workflows of a group: those that a live node has registered, and those of runs,
also flow files. OPEN is how many runs are open, HELD how many of these wait for code or
are parked; of the open runs the newest %s are counted. STARTED and what follows are about
what began or ended in the last day, or since --since, by whole hours; MEDIAN and 95%% is
how long those took that completed or failed, to within a half, and LATEST HOUR that in
which the latest began.`, human.Count(view.MaxWorkflowRuns)),
		Example: `  perdure workflows
  perdure workflows --since 7d
  perdure workflows -o json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listed(scr, db, cmd.Context(), "No workflow is known"+db.inGroup()+": no node is there, and no run.", func(ctx context.Context, e *perdure.Engine) ([]view.WorkflowStats, error) {
				return ops.WorkflowStats(ctx, e, opt.From(scr.env.Now()))
			}, workflowTable)
		},
	}
	addParams(scr, cmd, &opt, "")
	return cmd
}

func workflowTable(scr *screen, stats []view.WorkflowStats) error {
	table := scr.table("WORKFLOW", "OPEN", "HELD", "STARTED", "COMPLETED", "FAILED", "CANCELED", "MEDIAN", "95%", "LATEST HOUR", "BUILDS")
	table.Right(1, 2, 3, 4, 5, 6)
	table.Spare("CANCELED", "BUILDS")
	for i := range stats {
		w := &stats[i]
		table.Row(w.Workflow, human.Count(w.Open), painted(w.Held, term.Bad), human.Count(w.Started), human.Count(w.Completed), painted(w.Failed, term.Bad), human.Count(w.Canceled),
			human.Took(w.Median), human.Took(w.P95), latestHour(w), wording.Builds(w.Builds))
	}
	if err := table.Write(scr.out); err != nil {
		return err
	}
	if len(stats) > 0 && stats[0].AtLeast {
		scr.printf("\nThere are more open runs: the newest %s were counted.\n", human.Count(view.MaxWorkflowRuns))
	}
	return nil
}

func latestHour(w *view.WorkflowStats) string {
	if w.Latest == nil {
		return ""
	}
	return human.Hour(*w.Latest)
}

// painted is a number that has a colour unless it is 0.
func painted(n int, colour term.Colour) term.Painted {
	if n == 0 {
		return term.Painted{Text: "0"}
	}
	return term.Painted{Text: human.Count(n), Colour: colour}
}
