package cli

import (
	"context"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func compareCommand(scr *screen, db *source) *cobra.Command {
	var run, other whichRun
	cmd := &cobra.Command{
		Use:   "compare ID OTHER",
		Short: "Show where two workflows differ",
		Long: `Show where two workflows differ, such as one that failed and one that did not: whether
they have the same input, and which activities and steps ended in another way, needed
another number of attempts, or were made by one of them only.

With --run and --other-run, compare earlier runs, also of one workflow with itself: what
a reset has changed.`,
		Example: `  perdure compare order-17 order-18
  perdure compare order-17 order-17 --run 01a2245b-c737-724a-b896-b4501454350a
  perdure compare order-17 order-18 -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return db.withEngine(cmd.Context(), func(e *perdure.Engine) error {
				a, err := overviewOf(cmd.Context(), db, e, args[0], run)
				if err != nil {
					return err
				}
				b, err := overviewOf(cmd.Context(), db, e, args[1], other)
				if err != nil {
					return err
				}
				c := view.Compare(a, b)
				return scr.show(c, func() { compared(scr, &c) })
			})
		},
	}
	run.flag(cmd)
	cmd.Flags().StringVar(&other.id, "other-run", "", "`ID` of an earlier run of the chain of OTHER")
	return cmd
}

func overviewOf(ctx context.Context, db *source, e *perdure.Engine, id string, run whichRun) (*view.Overview, error) {
	o, err := run.of(e, id).Overview(ctx)
	if err != nil {
		return nil, db.ofRun(ctx, e, id, run.explain(db, id, err))
	}
	return o, nil
}

func compared(scr *screen, c *view.Comparison) {
	for _, r := range []*view.Run{&c.A, &c.B} {
		text := r.Status
		if took := wording.Lasted(r); took != "" {
			text += " after " + took
		}
		scr.printf("%s (%s): %s\n", r.WorkflowID, r.Workflow, text)
	}
	scr.printf("%s\n", wording.Compared(c))
	if len(c.Calls) == 0 {
		return
	}
	table := scr.table("\tCALL", "STEP", c.A.WorkflowID, c.B.WorkflowID)
	for i := range c.Calls {
		p := &c.Calls[i]
		table.Row(fmt.Sprint(p.Call), wording.StepOf(p), wording.Went(p.A), wording.Went(p.B))
	}
	table.Write(scr.out)
}
