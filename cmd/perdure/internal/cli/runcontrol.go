package cli

import (
	"context"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/spf13/cobra"
)

// answered are the flags of cancel, terminate and signal that ask for an answer.
var answered = []string{"dry-run", "request", "wait"}

// runOperation adds the flags of an operation on workflows to its command.
func runOperation(cmd *cobra.Command) *control {
	c := &control{name: strings.Fields(cmd.Use)[0]}
	c.addRequestFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&c.runs.retrying, "retrying", false, "with --all: only those that wait for another attempt")
	flags.StringVar(&c.runs.errors, "error", "", "with --all: only with a step whose latest attempt ended with this `type` of error")
	return c
}

// carryOut does the operation to one workflow or to all that are selected, and shows
// what came of it.
func (c *control) carryOut(cmd *cobra.Command, a *app, ids []string, op perdure.RunOperation) error {
	c.runOp = &op
	if flag := anyChanged(cmd, []string{"retrying", "error"}); flag != "" && !c.all {
		return usage("Add --all, or leave it away.", "--%s selects among all workflows.", flag)
	}
	if err := c.check(cmd, ids, false); err != nil {
		return err
	}
	return c.run(cmd.Context(), a, ids)
}

// wantsAnswer reports whether the operation is to be waited for.
func (c *control) wantsAnswer(cmd *cobra.Command) bool {
	return c.all || anyChanged(cmd, answered) != ""
}

// ending is the command of an operation that ends workflows.
func (a *app) ending(cmd *cobra.Command, op perdure.RunOperation, send func(e *perdure.Engine, ctx context.Context, id, reason string, options ...perdure.ControlOption) error, said func(id string) string) *cobra.Command {
	c := runOperation(cmd)
	cmd.Args = arguments
	cmd.ValidArgsFunction = a.completeID
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if c.wantsAnswer(cmd) || anyChanged(cmd, []string{"retrying", "error"}) != "" {
			return c.carryOut(cmd, a, args, op)
		}
		if err := c.check(cmd, args, false); err != nil {
			return err
		}
		id := args[0]
		return a.withRun(cmd.Context(), id, func(e *perdure.Engine) error {
			if err := send(e, cmd.Context(), id, c.why, perdure.By(a.user(c.person))); err != nil {
				return err
			}
			return a.confirm(sent{WorkflowID: id, Sent: c.name, Reason: c.why}, "%s\n", said(id))
		})
	}
	return cmd
}

func (a *app) cancelCommand() *cobra.Command {
	return a.ending(&cobra.Command{
		Use:   "cancel [ID]",
		Short: "Ask workflows to end",
		Long: `Ask a workflow to end. Its code is told and can clean up; what it is waiting for is
given up. Asking again does nothing. To end it without asking: perdure terminate

With --all it is done to many, each of which is waited for.`,
		Example: `  perdure cancel order-17 --reason "the customer called"
  perdure cancel --all --type checkout --prefix test- --dry-run`,
	}, perdure.CancelRun(), (*perdure.Engine).Cancel, func(id string) string {
		return "Workflow " + id + " is asked to end. See how it does: perdure show " + term.Quote(id)
	})
}

func (a *app) terminateCommand() *cobra.Command {
	return a.ending(&cobra.Command{
		Use:   "terminate [ID]",
		Short: "End workflows without asking them",
		Long: `End a workflow at once. Its code is not told and cleans nothing up. To ask it to end:
perdure cancel

With --all it is done to many, each of which is waited for.`,
		Example: `  perdure terminate order-17 --reason "started by mistake"
  perdure terminate --all --status parked --type checkout --dry-run`,
	}, perdure.TerminateRun(), (*perdure.Engine).Terminate, func(id string) string {
		return "Workflow " + id + " is ended as soon as its engine sees this; if none runs, when one starts."
	})
}

func (a *app) pauseRunCommand() *cobra.Command {
	return a.holding(&cobra.Command{
		Use:   "pause-run [ID]",
		Short: "Keep workflows where they are until they are resumed",
		Long: `Pause workflows as a whole: their code does not go on and no attempt starts, until they
are resumed. Attempts that run may end; signals and timers are recorded, and the code
sees them when it goes on. To pause only calls: perdure pause`,
		Example: `  perdure pause-run order-17 --reason "the customer is on the phone"
  perdure pause-run --all --type checkout --dry-run
  perdure list --status paused`,
	}, perdure.PauseRun())
}

func (a *app) resumeRunCommand() *cobra.Command {
	return a.holding(&cobra.Command{
		Use:   "resume-run [ID]",
		Short: "Let paused workflows go on",
		Long: `Resume workflows that were paused as a whole, and the calls that were paused with them.
To resume calls that were paused by themselves: perdure resume`,
		Example: `  perdure resume-run order-17
  perdure resume-run --all --status paused --type checkout`,
	}, perdure.ResumeRun())
}

// holding is the command of an operation whose answer is always waited for.
func (a *app) holding(cmd *cobra.Command, op perdure.RunOperation) *cobra.Command {
	c := runOperation(cmd)
	cmd.Args = arguments
	cmd.ValidArgsFunction = a.completeID
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.carryOut(cmd, a, args, op) }
	return cmd
}

// signalAll sends a signal to all workflows that are selected.
func (a *app) signalAll(cmd *cobra.Command, c *control, args []string) error {
	if len(args) == 0 || len(args) > 2 {
		return usage("Usage: perdure signal --all NAME [JSON] [flags]", "With --all there is no ID, but the NAME of the signal and perhaps its value.")
	}
	if cmd.Flags().Changed("id") {
		return usage("Use --request.", "With --all the signal has the name of the request.")
	}
	value := "null"
	if len(args) == 2 {
		value = args[1]
	}
	payload, err := a.jsonValue("value of the signal", value)
	if err != nil {
		return err
	}
	return c.carryOut(cmd, a, nil, perdure.SignalRun(args[0], payload))
}
