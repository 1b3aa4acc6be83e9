package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/spf13/cobra"
)

func (a *app) queryCommand() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "query ID NAME [JSON]",
		Short: "Ask a workflow a question that its code answers",
		Long: `Ask a workflow. The handler of that name in its code answers, in the engine that
serves it; so one must be running, also for a workflow that has ended. The input is
JSON, and - reads it from standard input. The answer is printed as JSON. Nothing is
recorded, and the workflow does not go on because of it.

The exit code is 6 if nobody answers in time.`,
		Example: `  perdure query order-17 progress
  perdure query order-17 price '{"currency": "EUR"}' --wait 1m`,
		Args:              arguments,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if wait <= 0 {
				return usage("Use a duration such as 30s or 5m.", "The time to wait is %s.", wait)
			}
			var input json.RawMessage
			if len(args) == 3 {
				var err error
				if input, err = a.value("input of the query", args[2]); err != nil {
					return err
				}
			}
			return a.query(cmd.Context(), args[0], args[1], input, wait)
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 10*time.Second, "wait so `long` for the answer")
	return cmd
}

func (a *app) query(ctx context.Context, id, name string, input json.RawMessage, wait time.Duration) error {
	return a.withRun(ctx, id, func(e *perdure.Engine) error {
		limited, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		answer, err := e.QueryJSON(limited, id, name, input)
		switch {
		case errors.Is(err, perdure.ErrUnanswered) && ctx.Err() == nil:
			return &Error{Code: exitTimedOut, What: fmt.Sprintf("Nobody has answered within %s.", term.Duration(wait)), Hint: "Is an engine running? See: perdure nodes"}
		case err != nil:
			return err
		}
		if a.format != formatTable {
			return a.document(answer)
		}
		a.printf("%s\n", term.Escape(string(answer)))
		return nil
	})
}
