package cli

import (
	"context"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/spf13/cobra"
)

func (a *app) attemptsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "attempts ID",
		Short: "Show every attempt of every step of one workflow",
		Long: `Show every attempt of every step of a workflow: how it ended, why it was or was not
followed by another one, and after which wait. Of a step with very many attempts the
first 100 and the last 1,000 are kept; a line says what is not.`,
		Example: `  perdure attempts order-17
  perdure attempts order-17 -o json`,
		Args:              arguments,
		ValidArgsFunction: a.completeID,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.attempts(cmd.Context(), args[0]) },
	}
}

func (a *app) attempts(ctx context.Context, id string) error {
	return a.withRun(ctx, id, func(e *perdure.Engine) error {
		attempts, err := e.Attempts(ctx, id)
		if err != nil {
			return err
		}
		if a.format != formatTable {
			return documents(a, attempts)
		}
		if len(attempts) == 0 {
			a.printf("Workflow %s has made no attempt yet.\n", term.Escape(id))
			return nil
		}
		return a.attemptTable(attempts)
	})
}

func (a *app) attemptTable(attempts []perdure.Attempt) error {
	now := a.env.Now()
	table := a.table("CALL", "STEP", "ATTEMPT", "OUTCOME", "STARTED", "TOOK", "REASON", "NEXT AFTER", "ERROR")
	table.Right(0, 2)
	last := perdure.Attempt{}
	for _, t := range attempts {
		if t.Call != last.Call {
			last = perdure.Attempt{Call: t.Call}
		}
		if missing := t.Number - last.Number - 1; missing > 0 {
			which := fmt.Sprintf("%d", last.Number+1)
			if missing > 1 {
				which = fmt.Sprintf("%d-%d", last.Number+1, t.Number-1)
			}
			table.Row(fmt.Sprint(t.Call), t.Name, which, term.Painted{Text: "(not kept)", Colour: term.Faint})
		}
		last = t
		started, took, delay := "", "", ""
		if t.Started != nil {
			started = term.Time(*t.Started)
			if t.Ended != nil {
				took = term.Duration(t.Ended.Sub(*t.Started))
			} else {
				took = term.Duration(now.Sub(*t.Started)) + " so far"
			}
		}
		if t.Next != nil {
			delay = term.Duration(t.Delay)
			if t.Next.After(now) {
				delay += " (" + term.Until(*t.Next, now) + ")"
			}
		}
		table.Row(fmt.Sprint(t.Call), t.Name, fmt.Sprint(t.Number), status(t.Outcome), started, took, t.Reason, delay,
			a.clip(typed(t.ErrorType, t.Message), 60))
	}
	return table.Write(a.out)
}
