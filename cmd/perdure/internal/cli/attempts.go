package cli

import (
	"context"
	"encoding/json"
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

func attemptsCommand(scr *screen, db *source) *cobra.Command {
	var asked listing.Attempts
	var run whichRun
	var from partFlags
	var call int64
	cmd := &cobra.Command{
		Use:   "attempts [ID]",
		Short: "Show the attempts of a workflow, or search those of all",
		Long: `Show every attempt of every step of a workflow: how it ended, and why and after which
wait it was or was not retried. Of a step with very many attempts the first 100 and the
last 1,000 are kept; a line says which are not. Many attempts are read in parts: --limit
attempts behind --after, which is the number of a step, or the place of an attempt of it,
such as 17.3.

Without an ID, search the attempts of all workflows, latest first. Steps that succeed at
the first try are not found there; "perdure stats activities" counts them.`,
		Example: `  perdure attempts order-17
  perdure attempts order-17 -o json
  perdure attempts order-17 --after 17.3 --limit 50
  perdure attempts --activity charge --error-type Unavailable --since 24h
  perdure attempts --outcome lost --limit 0 -o jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			filter, err := asked.Filter()
			if err != nil {
				return wrongParam(&asked, err)
			}
			if len(args) == 0 {
				if err := from.ofAll(cmd, &filter, "attempts", "run", "after", "call"); err != nil {
					return err
				}
				return find(scr, db, cmd.Context(), filter, "No attempts match", ops.FindAttempts, foundTable)
			}
			if cmd.Flags().Changed("type") {
				return usage("Leave it out, or the ID.", "--type is for the attempts of many workflows.")
			}
			var after view.AttemptPlace
			switch {
			case call < 0:
				return noCall(call)
			case after.UnmarshalText([]byte(from.after)) != nil:
				return usage("Write the number of a step, and with a point that of an attempt: 17 or 17.3.", "%q is not the number of a step or attempt.", from.after)
			}
			return attemptsOf(args[0], view.AttemptRange{Call: call, After: after}, filter).show(scr, db, cmd.Context(), args[0], run, from.limit)
		},
	}
	addParams(scr, cmd, &asked, "")
	from.flags(cmd, "the number of a step, or an attempt of it, as 17.3", "; the default is all of one workflow, and 100 of many")
	cmd.Flags().Int64Var(&call, "call", 0, "with an ID: only those of the step with this `number`")
	run.flag(cmd)
	return cmd
}

// attemptsOf is the list of the attempts of a workflow.
func attemptsOf(id string, part view.AttemptRange, filter view.AttemptFilter) *workflowList[view.Attempt] {
	l := &workflowList[view.Attempt]{
		selects: selector(filter), table: attemptTable, place: func(last *view.Attempt) string { return last.Place().String() },
		read: func(ctx context.Context, h perdure.Handle[json.RawMessage], last *view.Attempt, n int) ([]view.Attempt, error) {
			next := part
			if next.Limit = n; last != nil {
				next.After = last.Place()
			}
			return h.AttemptsRange(ctx, next)
		},
		none: func(int) string { return fmt.Sprintf("No attempt of workflow %s matches.", id) },
	}
	if part == (view.AttemptRange{}) {
		l.ofChain = "an attempt"
		l.none = func(read int) string {
			if read == 0 {
				return fmt.Sprintf("Workflow %s has made no attempt yet.", id)
			}
			return fmt.Sprintf("No attempt of workflow %s matches; there are %d in all.", id, read)
		}
	}
	return l
}

// foundTable shows attempts of several workflows.
func foundTable(scr *screen, found []view.FoundAttempt) {
	table := scr.table("ENDED", "ID", "STEP", "\tATTEMPT", "OUTCOME", "TOOK", "REASON", "NEXT AFTER", "ERROR")
	table.Spare("REASON", "NEXT AFTER", "TOOK")
	for _, t := range found {
		took, delay := "", ""
		if t.Started != nil {
			took = human.Duration(t.Ended.Sub(*t.Started))
		}
		if t.Next != nil {
			delay = human.Duration(t.Delay)
		}
		table.Row(scr.ago(*t.Ended), t.WorkflowID, t.Name, fmt.Sprint(t.Number), status(t.Outcome), took, t.Reason, delay,
			wording.Typed(t.ErrorType, t.Message))
	}
	table.Write(scr.out)
}

// attemptTable shows attempts of one workflow.
func attemptTable(scr *screen, attempts []view.Attempt) {
	now := scr.env.Now()
	table := scr.table("\tCALL", "STEP", "\tATTEMPT", "OUTCOME", "STARTED", "TOOK", "REASON", "NEXT AFTER", "ERROR")
	table.Spare("REASON", "TOOK")
	for i, t := range attempts {
		if t.NotKept > 0 {
			which := fmt.Sprint(t.Number - 1)
			if t.NotKept > 1 {
				which = fmt.Sprintf("%d-%d", t.Number-t.NotKept, t.Number-1)
			}
			table.Row(fmt.Sprint(t.Call), t.Name, which, term.Painted{Text: "(not kept)", Colour: term.Faint})
		}
		started, took, delay := term.Either{}, "", ""
		if t.Started != nil {
			started = term.Either{Long: human.Time(*t.Started), Short: human.Clock(*t.Started, now)}
			if t.Ended != nil {
				took = human.Duration(t.Ended.Sub(*t.Started))
			} else {
				took = human.Duration(now.Sub(*t.Started)) + " so far"
			}
		}
		if t.Next != nil {
			delay = human.Duration(t.Delay)
			latest := i+1 == len(attempts) || attempts[i+1].Call != t.Call
			if latest && t.Next.After(now) { // else retry-now came first
				delay += " (" + human.Until(*t.Next, now) + ")"
			}
		}
		table.Row(fmt.Sprint(t.Call), t.Name, fmt.Sprint(t.Number), status(t.Outcome), started, took, t.Reason, delay,
			wording.Typed(t.ErrorType, t.Message))
	}
	table.Write(scr.out)
}
