package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func (a *app) callsCommand() *cobra.Command {
	var opt ledgerOptions
	cmd := &cobra.Command{
		Use:   "calls [ID]",
		Short: "Show how many attempts each step needed, and how long they took",
		Long: `Show, for each step of a workflow, how many attempts it needed, how they ended, and how
long they ran, waited and took in all. The sums are exact even if not all attempts of a
step are kept.

Without an ID, search the steps of all workflows that did not succeed at the first try,
latest attempt first. --error-type, --outcome, --reason, --since and --until are then about
the latest attempt of a step.`,
		Example: `  perdure calls order-17
  perdure calls --more-than 3
  perdure calls --more-than 3 --activity charge --since 24h -o json
  perdure calls --reason max_attempts`,
		Args:              arguments,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opt.resolve(a.env.Now()); err != nil {
				return err
			}
			if len(args) == 0 {
				return a.findCalls(cmd.Context(), &opt)
			}
			for _, flag := range []string{"type", "limit", "activity", errorType, "outcome", "reason", "since", "until"} {
				if cmd.Flags().Changed(flag) {
					return usage("Leave it out, or the ID.", "--%s is for the steps of many workflows; those of one are all shown.", flag)
				}
			}
			return a.calls(cmd.Context(), args[0], &opt)
		},
	}
	flags := opt.flags(cmd)
	flags.IntVar(&opt.filter.MoreThan, "more-than", 0, "only those with more attempts than this `number`")
	flags.IntVar(&opt.filter.Limit, "limit", 100, "without an ID: at most this `number`; 0 for all")
	return cmd
}

func (a *app) calls(ctx context.Context, id string, opt *ledgerOptions) error {
	return a.withRun(ctx, id, func(e *perdure.Engine) error {
		calls, err := e.Workflow(id).Calls(ctx)
		if err != nil {
			return err
		}
		calls = slices.DeleteFunc(calls, func(c view.CallAttempts) bool { return c.Attempts <= opt.filter.MoreThan })
		return a.listCallAttempts(calls)
	})
}

func (a *app) findCalls(ctx context.Context, opt *ledgerOptions) error {
	return a.withEngine(ctx, func(e *perdure.Engine) error {
		calls, more, err := find(ctx, e, opt.filter, ops.FindCalls)
		if err == nil {
			err = a.listCallAttempts(calls)
		}
		if err == nil && more {
			a.cutOff("latest", len(calls))
		}
		return err
	})
}

func (a *app) listCallAttempts(calls []view.CallAttempts) error {
	return listing(a, calls, "No steps match"+a.inGroup()+".", a.callTable)
}

func (a *app) callTable(calls []view.CallAttempts) error {
	table := a.table("ID", "CALL", "STEP", "ATTEMPTS", "NOT KEPT", "RAN", "BACKED OFF", "RETRYING", "LAST ENDED", "OUTCOME", "REASON", "ERROR")
	table.Right(1, 3, 4)
	for _, c := range calls {
		missing, last := "", ""
		if c.NotKept > 0 {
			missing = fmt.Sprint(c.NotKept)
		}
		if c.Last != nil {
			last = human.Time(*c.Last)
		}
		table.Row(c.WorkflowID, fmt.Sprint(c.Call), c.Name, fmt.Sprint(c.Attempts), missing, human.Duration(c.Run), human.Duration(c.Backoff),
			human.Duration(c.Retrying), last, status(c.Outcome), c.Reason, wording.Typed(c.ErrorType, c.Message))
	}
	return table.Write(a.out)
}
