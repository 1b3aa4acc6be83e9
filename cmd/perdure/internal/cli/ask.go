package cli

import (
	"context"
	"encoding/json"
	"time"

	"github.com/perdure/perdure"
	"github.com/spf13/cobra"
)

// asking is the command of a question to a workflow's code: query or update. Ask
// asks it, with an input of nil if there is none, and explain says what the error of
// one means that was waited for so long.
func (a *app) asking(cmd *cobra.Command, wait time.Duration,
	ask func(ctx context.Context, e *perdure.Engine, id, name string, input json.RawMessage) (json.RawMessage, error),
	explain func(err error, waited time.Duration) error,
) *cobra.Command {
	cmd.Args = arguments
	cmd.ValidArgsFunction = a.completeID
	cmd.Flags().DurationVar(&wait, "wait", wait, "wait so `long` for the answer")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkWait(wait); err != nil {
			return err
		}
		var input json.RawMessage
		if len(args) == 3 {
			var err error
			if input, err = a.jsonValue("input of the "+cmd.Name(), args[2]); err != nil {
				return err
			}
		}
		ctx := cmd.Context()
		return a.withRun(ctx, args[0], func(e *perdure.Engine) error {
			limited, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			answer, err := ask(limited, e, args[0], args[1], input)
			switch {
			case err != nil && ctx.Err() != nil:
				return err
			case err != nil:
				return explain(err, wait)
			case a.format != formatTable:
				return a.document(answer)
			}
			a.printf("%s\n", string(answer))
			return nil
		})
	}
	return cmd
}

// checkWait refuses to wait for no time.
func checkWait(wait time.Duration) error {
	if wait <= 0 {
		return usage("Use a duration such as 30s or 5m.", "The time to wait is %s.", wait)
	}
	return nil
}
