package cli

import (
	"context"
	"encoding/json"
	"time"

	"github.com/perdure/perdure"
	"github.com/spf13/cobra"
)

// asking runs the command query or update. ask sends the request, with a nil input if there
// is none. explain says what its error means after that wait.
func asking(scr *screen, db *source, cmd *cobra.Command, wait time.Duration,
	ask func(ctx context.Context, e *perdure.Engine, id, name string, input json.RawMessage) (json.RawMessage, error),
	explain func(err error, waited time.Duration) error,
) *cobra.Command {
	cmd.Args = arguments
	cmd.ValidArgsFunction = db.completeID
	cmd.Flags().DurationVar(&wait, "wait", wait, "wait at most this `duration` for the result")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkWait(wait); err != nil {
			return err
		}
		var input json.RawMessage
		if len(args) == 3 {
			var err error
			if input, err = scr.jsonValue("input of the "+cmd.Name(), args[2]); err != nil {
				return err
			}
		}
		ctx := cmd.Context()
		return db.withRun(ctx, args[0], func(e *perdure.Engine) error {
			limited, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			answer, err := ask(limited, e, args[0], args[1], input)
			switch {
			case err != nil && ctx.Err() != nil:
				return err
			case err != nil:
				return explain(err, wait)
			case scr.format != formatTable:
				return scr.document(answer)
			}
			scr.printf("%s\n", string(answer))
			return nil
		})
	}
	return cmd
}

// checkWait returns an error for a wait that is not positive.
func checkWait(wait time.Duration) error {
	if wait <= 0 {
		return usage("Use a duration such as 30s or 5m.", "The time to wait is %s.", wait)
	}
	return nil
}
