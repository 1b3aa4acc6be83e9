package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func callsCommand(scr *screen, db *source) *cobra.Command {
	var asked listing.Attempts
	var moreThan int
	var run whichRun
	var from partFlags
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
		RunE: func(cmd *cobra.Command, args []string) error {
			filter, err := asked.Filter()
			if err != nil {
				return wrongParam(&asked, err)
			}
			if len(args) == 0 {
				if err := from.ofAll(cmd, &filter, "steps", "run", "after"); err != nil {
					return err
				}
				filter.MoreThan = moreThan
				return find(scr, db, cmd.Context(), filter, noCalls, ops.FindCalls, callTable)
			}
			if flag := anyChanged(cmd, []string{"type", "activity", errorType, "outcome", "reason", "since", "until"}); flag != "" {
				return usage("Leave it out, or the ID.", "--%s is for the steps of many workflows.", flag)
			}
			part := view.CallRange{}
			if from.after != "" {
				if part.After, err = strconv.ParseInt(from.after, 10, 64); err != nil || part.After < 0 {
					return usage("Write the number of a step, such as 17.", "%q is not the number of a step.", from.after)
				}
			}
			return callsOf(db, part, moreThan).show(scr, db, cmd.Context(), args[0], run, from.limit)
		},
	}
	addParams(scr, cmd, &asked, "")
	number(cmd.Flags(), &moreThan, "more-than", 0, math.MaxInt32, "Use a number from 0.", "only those with more attempts than this `number`")
	from.flags(cmd, "the number of a step", "; the default is all of one workflow, and 100 of many")
	run.flag(cmd)
	return cmd
}

// callsOf is the list of the calls of a workflow that needed more attempts than some.
func callsOf(db *source, part view.CallRange, moreThan int) *workflowList[view.CallAttempts] {
	l := &workflowList[view.CallAttempts]{
		table: callTable, place: func(last *view.CallAttempts) string { return fmt.Sprint(last.Call) },
		read: func(ctx context.Context, h perdure.Handle[json.RawMessage], last *view.CallAttempts, n int) ([]view.CallAttempts, error) {
			next := part
			if next.Limit = n; last != nil {
				next.After = last.Call
			}
			return h.CallsRange(ctx, next)
		},
		none: func(int) string { return noCalls + db.inGroup() + "." },
	}
	if moreThan > 0 {
		l.selects = func(c *view.CallAttempts) bool { return c.Attempts > moreThan }
	}
	if part.After == 0 {
		l.ofChain = "a step"
	}
	return l
}

// noCalls says that nothing is found.
const noCalls = "No steps match"

func callTable(scr *screen, calls []view.CallAttempts) {
	table := scr.table("ID", "\tCALL", "STEP", "\tATTEMPTS", "\tNOT KEPT", "RAN", "BACKED OFF", "RETRYING", "LAST ENDED", "OUTCOME", "REASON", "ERROR")
	table.Spare("REASON", "NOT KEPT", "LAST ENDED", "BACKED OFF", "RAN")
	for _, c := range calls {
		last := term.Either{}
		if c.Last != nil {
			last = scr.ago(*c.Last)
		}
		table.Row(c.WorkflowID, fmt.Sprint(c.Call), c.Name, fmt.Sprint(c.Attempts), unlessZero(c.NotKept), human.Duration(c.Run), human.Duration(c.Backoff),
			human.Duration(c.Retrying), last, status(c.Outcome), c.Reason, wording.Error(&c))
	}
	table.Write(scr.out)
}
