package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/workflow"
	"github.com/spf13/cobra"
)

func (a *app) updateCommand() *cobra.Command {
	var wait time.Duration
	var id string
	cmd := &cobra.Command{
		Use:   "update ID NAME [JSON]",
		Short: "Ask a workflow to change, and print its answer",
		Long: `Ask a workflow to change. The handler of that name in its code accepts or rejects
the update, carries it out and answers; that is on record. The input is JSON, and -
reads it from standard input. The answer is printed as JSON.

With --id the update has an ID: asking twice is then asking once, and prints the
answer of the first, also when the workflow has ended.

The exit code is 6 if there is no answer in time. The update is durable then, and
is carried out; ask for its answer with the same --id.`,
		Example: `  perdure update order-17 add-item '{"item": "grinder"}'
  perdure update order-17 approve --id approve-1 --wait 1h`,
		Args:              arguments,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if wait <= 0 {
				return usage("Use a duration such as 30s or 5m.", "The time to wait is %s.", wait)
			}
			var input json.RawMessage
			if len(args) == 3 {
				var err error
				if input, err = a.value("input of the update", args[2]); err != nil {
					return err
				}
			}
			var options []perdure.UpdateOption
			if id != "" {
				options = append(options, perdure.UpdateID(id))
			}
			return a.update(cmd.Context(), args[0], args[1], input, wait, options)
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", time.Minute, "wait so `long` for the answer")
	cmd.Flags().StringVar(&id, "id", "", "an `ID` of the update: asking twice is asking once")
	return cmd
}

func (a *app) update(ctx context.Context, id, name string, input json.RawMessage, wait time.Duration, options []perdure.UpdateOption) error {
	return a.withRun(ctx, id, func(e *perdure.Engine) error {
		limited, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		answer, err := e.UpdateJSON(limited, id, name, input, options...)
		rejected, isRejected := errors.AsType[*workflow.RejectedError](err)
		switch {
		case errors.Is(err, perdure.ErrNoAnswer) && ctx.Err() == nil:
			return &Error{Code: exitTimedOut, What: fmt.Sprintf("There is no answer within %s.", term.Duration(wait)), Hint: "The update is durable; ask again with the same --id. Is an engine running? See: perdure nodes"}
		case isRejected:
			return &Error{Code: exitError, What: fmt.Sprintf("The workflow rejects the update %q: %v.", rejected.Update, rejected.Err)}
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
