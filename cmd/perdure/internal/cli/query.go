package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/spf13/cobra"
)

func queryCommand(scr *screen, db *source) *cobra.Command {
	return asking(scr, db, &cobra.Command{
		Use:   "query ID NAME [JSON]",
		Short: "Query a workflow",
		Long: `Query a workflow: call the query handler of that name in its code, and print what it
returns as JSON. An engine that serves the workflow must be running, even if the workflow
has ended. The input is JSON, and - reads it from standard input. Nothing is recorded.

The exit code is 6 if there is no answer in time.`,
		Example: `  perdure query order-17 progress
  perdure query order-17 price '{"currency": "EUR"}' --wait 1m`,
	}, 10*time.Second, func(ctx context.Context, e *perdure.Engine, id, name string, input json.RawMessage) (json.RawMessage, error) {
		return e.Workflow(id).Query(ctx, name, input)
	}, func(err error, waited time.Duration) error {
		if errors.Is(err, perdure.ErrUnanswered) {
			return &Error{Code: exitTimedOut, What: fmt.Sprintf("There was no answer within %s.", human.Duration(waited)), Hint: "Is an engine running? See: " + db.sameDatabase("perdure nodes")}
		}
		return err
	})
}
