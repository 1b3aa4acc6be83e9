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
	return a.asking(&cobra.Command{
		Use:   "query ID NAME [JSON]",
		Short: "Ask a workflow a question that its code answers",
		Long: `Ask a workflow. The handler of that name in its code answers, in the engine that
serves it; so one must be running, also for a workflow that has ended. The input is
JSON, and - reads it from standard input. The answer is printed as JSON. Nothing is
recorded, and the workflow does not go on because of it.

The exit code is 6 if nobody answers in time.`,
		Example: `  perdure query order-17 progress
  perdure query order-17 price '{"currency": "EUR"}' --wait 1m`,
	}, 10*time.Second, func(ctx context.Context, e *perdure.Engine, id, name string, input json.RawMessage) (json.RawMessage, error) {
		return e.QueryJSON(ctx, id, name, input)
	}, func(err error, waited time.Duration) error {
		if errors.Is(err, perdure.ErrUnanswered) {
			return &Error{Code: exitTimedOut, What: fmt.Sprintf("Nobody has answered within %s.", term.Duration(waited)), Hint: "Is an engine running? See: perdure nodes"}
		}
		return err
	})
}
