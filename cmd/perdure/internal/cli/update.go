package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/workflow"
	"github.com/spf13/cobra"
)

func updateCommand(scr *screen, db *source) *cobra.Command {
	var id string
	cmd := asking(scr, db, &cobra.Command{
		Use:   "update ID NAME [JSON]",
		Short: "Update a workflow, and print the result",
		Long: `Update a workflow: the update handler of that name in its code accepts or rejects the
update, carries it out, and returns a result, which is recorded and printed as JSON. The
input is JSON, and - reads it from standard input.

With --id the update has an idempotency key: repeating it returns the first result, even
after the workflow has ended.

The exit code is 6 if there is no result in time. The update is durable then, and is
carried out; ask for its result with the same --id.`,
		Example: `  perdure update order-17 add-item '{"item": "grinder"}'
  perdure update order-17 approve --id approve-1 --wait 1h`,
	}, time.Minute, func(ctx context.Context, e *perdure.Engine, workflowID, name string, input json.RawMessage) (json.RawMessage, error) {
		return workflow.NewUpdate[json.RawMessage, json.RawMessage](name).CallOnce(ctx, e.Workflow(workflowID), id, input)
	}, func(err error, waited time.Duration) error { return explainUpdate(db, err, waited) })
	cmd.Flags().StringVar(&id, "id", "", "idempotency `key` of the update")
	return cmd
}

// explainUpdate says why an update has no result.
func explainUpdate(db *source, err error, waited time.Duration) error {
	if errors.Is(err, perdure.ErrNoAnswer) {
		return &Error{Code: exitTimedOut, What: fmt.Sprintf("There was no result within %s.", human.Duration(waited)), Hint: "The update is durable; repeat it with the same --id. Is an engine running? See: " + db.sameDatabase("perdure nodes")}
	}
	if rejected, ok := errors.AsType[*workflow.RejectedError](err); ok {
		return &Error{Code: exitError, What: fmt.Sprintf("The workflow rejects the update %q: %v.", rejected.Update, rejected.Err)}
	}
	return err
}
