package cli

import (
	"cmp"
	"context"
	"math"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func checkCodeCommand(scr *screen, db *source) *cobra.Command {
	var actions flowActions
	filter := view.CodeFilter{Limit: 100}
	cmd := &cobra.Command{
		Use:   "check-code",
		Short: "Try open runs of flow files with this perdure, before it serves",
		Long: `Replay the open runs of flow files with the interpreter of this perdure, and list those
that it could not continue: an engine would park them. No run is changed and no action
runs, so it works beside the perdure that serves them. If this perdure needs a newer schema
than the database has, it says so: migrate a copy of the database and check that.

A run of a flow file keeps the text with which it was started, so changed files do not
concern it. The workflows of a Go program are checked by that program, which has their code:
see ops.CheckCode and docs/deploying.md.

The exit code is 7 if a run that continues now would stop.`,
		Example: `  perdure check-code --db flows.db
  perdure check-code --db flows.db --sample 100 -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter.Limit = cmp.Or(filter.Limit, math.MaxInt32)
			runtime, err := actions.runtime(func(string) {})
			if err != nil {
				return err
			}
			return checkCode(scr, db, cmd.Context(), runtime, filter)
		},
	}
	actions.flags(cmd)
	flags := cmd.Flags()
	number(flags, &filter.Sample, "sample", 0, math.MaxInt32, "Use a number from 1, or 0 for all.", "`number` of runs to replay, 0 for all; the same ones each time")
	flags.StringVar(&filter.IDPrefix, "prefix", "", "only with workflow IDs that begin with this `text`")
	limited(flags, &filter.Limit, "at most this `number`; 0 for all")
	return cmd
}

func checkCode(scr *screen, db *source, ctx context.Context, runtime *flow.Runtime, filter view.CodeFilter) error {
	filter.Workflow, filter.Progress = flow.Workflow.Name(), scr.counted()
	return db.withEngine(ctx, func(e *perdure.Engine) error {
		c, err := ops.CheckCode(ctx, e, filter)
		var counts view.Counts
		if err == nil && scr.format == formatTable {
			counts, err = ops.Counts(ctx, e, 0)
		}
		if err != nil {
			return err
		}
		return scr.judge(c, c.OK, "Open runs would stop.", func() { codeChecked(scr, db, c, counts) })
	}, perdure.Register(runtime.Definitions()...))
}

// codeChecked shows the result of a code check to people.
func codeChecked(scr *screen, db *source, c *view.CodeCheck, counts view.Counts) {
	switch {
	case c.Open == 0:
		scr.printf("No run of a flow file is open%s.\n", db.inGroup())
	case c.OK:
		scr.printf("%s: %s\n", replayed(c), term.Painted{Text: "none would stop.", Colour: term.Good})
	default:
		scr.printf("%s: %s\n", replayed(c), term.Painted{Text: human.Count(c.Types[0].Stops) + " would stop.", Colour: term.Bad})
	}
	codeFindings(scr, c)
	others := -c.Open
	for _, status := range wording.OpenStatuses {
		others += counts.Runs[status]
	}
	if others > 0 {
		scr.printf("\n%s left out. Go programs check their own: ops.CheckCode.\n", human.Plural(others, "other open run is", "other open runs are"))
	}
}

// replayed says how many runs were replayed, out of how many.
func replayed(c *view.CodeCheck) string {
	text := human.Plural(c.Checked, "open run of flow files", "open runs of flow files")
	if c.Checked < c.Open {
		text += " replayed of " + human.Count(c.Open)
	} else {
		text += " replayed"
	}
	return text
}

// codeFindings lists the runs that do not fit.
func codeFindings(scr *screen, c *view.CodeCheck) {
	if len(c.Findings) == 0 {
		return
	}
	scr.printf("\n")
	table := scr.table("ID", "STATUS", "STOPS", "VERDICT", "REASON")
	for i := range c.Findings {
		f := &c.Findings[i]
		stops := term.Painted{Text: "yes", Colour: term.Bad}
		if !f.Stops {
			stops = term.Painted{Text: "stands already"}
		}
		table.Row(f.WorkflowID, f.Status, stops, f.Verdict, f.Reason)
	}
	table.Write(scr.out)
	if c.More > 0 {
		scr.printf("\nThere are %s more. To list them: --limit 0\n", human.Count(c.More))
	}
}
