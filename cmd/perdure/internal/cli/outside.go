package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/operation"
	"github.com/perdure/perdure/retry"
	"github.com/spf13/cobra"
)

func (a *app) completeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "complete TOKEN [JSON]",
		Short: "Complete an external attempt by its token",
		Long: `Complete an attempt whose activity has handed out its token and waits for the result.
The result is JSON; without one it is null, and with - it is read from standard input.
When the command returns, the result is in the database. Repeating it does nothing.`,
		Example: `  perdure complete AQEBAXJ1bi0x... true
  perdure complete AQEBAXJ1bi0x... '{"approved_by": "Ada"}'`,
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			value := "null"
			if len(args) == 2 {
				value = args[1]
			}
			result, err := a.jsonValue("result", value)
			if err != nil {
				return err
			}
			return a.outside(cmd.Context(), "complete", func(e *perdure.Engine) error {
				return e.Complete(cmd.Context(), args[0], result)
			})
		},
	}
}

func (a *app) failAttemptCommand() *cobra.Command {
	var kind string
	var terminal bool
	cmd := &cobra.Command{
		Use:   "fail-attempt TOKEN MESSAGE",
		Short: "Fail an external attempt by its token",
		Long: `Fail an attempt whose activity has handed out its token. The policy of its call decides
whether another attempt follows, as if the activity had returned the error.`,
		Example: `  perdure fail-attempt AQEBAXJ1bi0x... "the bank did not answer"
  perdure fail-attempt AQEBAXJ1bi0x... "declined" --as CardDeclined --terminal`,
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("as") && kind == "" {
				return usage("Leave --as out, or name a type.", "The --as is empty.")
			}
			var failure error = operation.NewError(kind, args[1])
			if terminal {
				failure = retry.Terminal(failure)
			}
			return a.outside(cmd.Context(), "fail-attempt", func(e *perdure.Engine) error {
				return e.FailAttempt(cmd.Context(), args[0], failure)
			})
		},
	}
	cmd.Flags().StringVar(&kind, "as", retry.TypeError, "`type` of the error, for the rules of policies")
	cmd.Flags().BoolVar(&terminal, "terminal", false, "do not retry, whatever the policy says")
	return cmd
}

// after returns what err says after the text of wrapped, which it wraps.
func after(err, wrapped error) string {
	_, rest, _ := strings.Cut(err.Error(), wrapped.Error())
	return rest
}

// outside ends an external attempt.
func (a *app) outside(ctx context.Context, what string, tell func(e *perdure.Engine) error) error {
	err := a.withEngine(ctx, tell)
	switch {
	case errors.Is(err, perdure.ErrInvalidToken):
		return &Error{Code: exitUsage, What: "The token is not of an attempt in this database.", Hint: "Check that it is complete, and --db."}
	case errors.Is(err, perdure.ErrStaleToken):
		return &Error{Code: exitError, What: "The attempt is over" + after(err, perdure.ErrStaleToken) + ".", Hint: "A later attempt has another token."}
	case errors.Is(err, perdure.ErrNotFound):
		return &Error{Code: exitNotFound, What: "The workflow of this attempt no longer exists."}
	case err != nil:
		return err
	}
	return a.confirm(sent{Sent: what}, "Recorded; the workflow continues when an engine serves it.\n")
}
