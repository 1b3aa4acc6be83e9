package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func callsCommand(scr *screen, db *source) *cobra.Command {
	var opt ledgerOptions
	var run whichRun
	var from part
	cmd := &cobra.Command{
		Use:   "calls [ID]",
		Short: "Show how many attempts each step needed, and how long they took",
		Long: `Show, for each step of a workflow, how many attempts it needed, how they ended, and how
long they ran, waited and took in all. The sums are exact even if not all attempts of a
step are kept. Many steps are read in parts: --limit steps behind the one with the number
--after.

Without an ID, search the steps of all workflows that did not succeed at the first try,
latest attempt first. --error-type, --outcome, --reason, --since and --until are then about
the latest attempt of a step.`,
		Example: `  perdure calls order-17
  perdure calls order-17 --after 400 --limit 50
  perdure calls --more-than 3
  perdure calls --more-than 3 --activity charge --since 24h -o json
  perdure calls --reason max_attempts`,
		Args:              arguments,
		ValidArgsFunction: db.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opt.resolve(); err != nil {
				return err
			}
			if err := from.check(); err != nil {
				return err
			}
			if len(args) == 0 {
				if err := from.ofAll(cmd, &opt, "steps", "run", "after"); err != nil {
					return err
				}
				return findCalls(scr, db, cmd.Context(), &opt)
			}
			if flag := anyChanged(cmd, []string{"type", "activity", errorType, "outcome", "reason", "since", "until"}); flag != "" {
				return usage("Leave it out, or the ID.", "--%s is for the steps of many workflows.", flag)
			}
			r := view.CallRange{Limit: from.limit}
			if from.after != "" {
				var err error
				if r.After, err = strconv.ParseInt(from.after, 10, 64); err != nil || r.After < 0 {
					return usage("Write the number of a step, such as 17.", "%q is not the number of a step.", from.after)
				}
			}
			return showCalls(scr, db, cmd.Context(), args[0], run, r, &opt)
		},
	}
	opt.flags(scr, cmd)
	cmd.Flags().IntVar(&opt.filter.MoreThan, "more-than", 0, "only those with more attempts than this `number`")
	from.flags(cmd, "the number of a step", "; the default is all of one workflow, and 100 of many")
	run.flag(cmd)
	return cmd
}

func showCalls(scr *screen, db *source, ctx context.Context, id string, run whichRun, part view.CallRange, opt *ledgerOptions) error {
	return db.withRun(ctx, id, func(e *perdure.Engine) error {
		limit := part.Limit
		var selects func(*view.CallAttempts) bool
		if opt.filter.MoreThan > 0 {
			selects = func(c *view.CallAttempts) bool { return c.Attempts > opt.filter.MoreThan }
		}
		if run.id == "" && part == (view.CallRange{}) && scr.format == formatTable {
			runs, err := continuedRuns(ctx, e, id)
			if err != nil {
				return err
			}
			if len(runs) > 0 {
				return callsOfRuns(scr, ctx, e, id, runs, selects)
			}
		}
		p, err := inParts(scr, limit, selects, func(last *view.CallAttempts, n int) ([]view.CallAttempts, error) {
			if part.Limit = n; last != nil {
				part.After = last.Call
			}
			calls, err := run.of(e, id).CallsRange(ctx, part)
			return calls, run.explain(db, id, err)
		})
		if err != nil || scr.format != formatTable {
			return err
		}
		if err := listCallAttempts(scr, db, p.rows); err != nil || !p.more {
			return err
		}
		scr.tellMore(limit, fmt.Sprint(p.last.Call))
		return nil
	})
}

// callsOfRuns shows the steps of all runs of a workflow that went on as new.
func callsOfRuns(scr *screen, ctx context.Context, e *perdure.Engine, id string, runs []view.ChainRun, selects func(*view.CallAttempts) bool) error {
	return eachRun(scr, id, "a step", runs, func(run, heading string) (int, error) {
		p, err := inParts(scr, 0, selects, func(last *view.CallAttempts, n int) ([]view.CallAttempts, error) {
			part := view.CallRange{Limit: n}
			if last != nil {
				part.After = last.Call
			}
			return e.Workflow(id).OfRun(run).CallsRange(ctx, part)
		})
		if err != nil || len(p.rows) == 0 {
			return 0, err
		}
		scr.printf("%s", heading)
		err = callTable(scr, p.rows)
		scr.printf("\n")
		return len(p.rows), err
	})
}

func findCalls(scr *screen, db *source, ctx context.Context, opt *ledgerOptions) error {
	return db.withEngine(ctx, func(e *perdure.Engine) error {
		calls, more, err := find(ctx, e, opt.filter, ops.FindCalls)
		if err == nil {
			err = listCallAttempts(scr, db, calls)
		}
		if err == nil && more {
			scr.cutOff("latest", len(calls))
		}
		return err
	})
}

func listCallAttempts(scr *screen, db *source, calls []view.CallAttempts) error {
	return showAll(scr, calls, "No steps match"+db.inGroup()+".", with(scr, callTable))
}

func callTable(scr *screen, calls []view.CallAttempts) error {
	table := scr.table("ID", "CALL", "STEP", "ATTEMPTS", "NOT KEPT", "RAN", "BACKED OFF", "RETRYING", "LAST ENDED", "OUTCOME", "REASON", "ERROR")
	table.Right(1, 3, 4)
	table.Spare("REASON", "NOT KEPT", "LAST ENDED", "BACKED OFF", "RAN")
	for _, c := range calls {
		missing, last := "", term.Either{}
		if c.NotKept > 0 {
			missing = fmt.Sprint(c.NotKept)
		}
		if c.Last != nil {
			last = scr.ago(*c.Last)
		}
		table.Row(c.WorkflowID, fmt.Sprint(c.Call), c.Name, fmt.Sprint(c.Attempts), missing, human.Duration(c.Run), human.Duration(c.Backoff),
			human.Duration(c.Retrying), last, status(c.Outcome), c.Reason, wording.Error(&c))
	}
	return table.Write(scr.out)
}
