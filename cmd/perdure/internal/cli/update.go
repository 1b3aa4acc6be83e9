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
	var id string
	cmd := a.asking(&cobra.Command{
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
	}, time.Minute, func(ctx context.Context, e *perdure.Engine, workflowID, name string, input json.RawMessage) (json.RawMessage, error) {
		var options []perdure.UpdateOption
		if id != "" {
			options = append(options, perdure.UpdateID(id))
		}
		return e.UpdateJSON(ctx, workflowID, name, input, options...)
	}, explainUpdate)
	cmd.Flags().StringVar(&id, "id", "", "an `ID` of the update: asking twice is asking once")
	return cmd
}

// explainUpdate says why an update has no answer.
func explainUpdate(err error, waited time.Duration) error {
	if errors.Is(err, perdure.ErrNoAnswer) {
		return &Error{Code: exitTimedOut, What: fmt.Sprintf("There is no answer within %s.", term.Duration(waited)), Hint: "The update is durable; ask again with the same --id. Is an engine running? See: perdure nodes"}
	}
	if rejected, ok := errors.AsType[*workflow.RejectedError](err); ok {
		return &Error{Code: exitError, What: fmt.Sprintf("The workflow rejects the update %q: %v.", rejected.Update, rejected.Err)}
	}
	return err
}
