package cli

import (
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/spf13/cobra"
)

func (a *app) resetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reset [ID]",
		Short: "Send workflows back to a call",
		Long: `Send a workflow back to a call: it goes on as if its code had just come there. What
calls before it came to is kept, and nothing of them is done again; the call and all
later ones are made anew. It works on one that is open, and on one that has ended: a
next run goes on in its place. Signals that came since then follow. The numbers of
calls are those of: perdure history`,
		Example: `  perdure reset order-17 --call 4 --reason "the stock system is mended" --dry-run
  perdure reset --all --call 4 --status failed --type checkout --dry-run`,
		Args:              arguments,
		ValidArgsFunction: a.completeID,
	}
	c := runOperation(cmd)
	call := callFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkCall(cmd, *call); err != nil {
			return err
		}
		return c.carryOut(cmd, a, args, perdure.ResetRun(*call))
	}
	return cmd
}

func (a *app) forkCommand() *cobra.Command {
	var by person
	var run whichRun
	var input, callInput string
	var dry bool
	cmd := &cobra.Command{
		Use:   "fork ID NEWID",
		Short: "Start another workflow that goes on from a call of one",
		Long: `Start a workflow under a new ID that goes on from a call of another one, which is not
touched: see perdure reset. With --call-input that call gets another input, if it is one
of an activity or a child; with --input the workflow does. If its code then does something
else before that call, it is parked with the difference.`,
		Example: `  perdure fork order-17 order-17-again --call 4
  perdure fork order-17 what-if --call 4 --call-input '{"cents": 100}'`,
		Args:              arguments,
		ValidArgsFunction: a.completeID,
	}
	call := callFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 2 {
			return usage("Usage: "+cmd.UseLine(), "There must be two IDs: that of the workflow, and a new one.")
		}
		if err := checkCall(cmd, *call); err != nil {
			return err
		}
		options := []perdure.ForkOption{perdure.ForkBy(a.user(by), by.why)}
		if run.id != "" {
			options = append(options, perdure.ForkOf(run.id))
		}
		for _, value := range []struct {
			flag, text string
			option     func(any) perdure.ForkOption
		}{{"input", input, perdure.ForkInput}, {"call-input", callInput, perdure.ForkCallInput}} {
			if !cmd.Flags().Changed(value.flag) {
				continue
			}
			payload, err := a.jsonValue("--"+value.flag, value.text)
			if err != nil {
				return err
			}
			options = append(options, value.option(payload))
		}
		id, newID, ctx := args[0], args[1], cmd.Context()
		return a.withRun(ctx, id, func(e *perdure.Engine) error {
			if dry {
				text, err := e.PreviewFork(ctx, id, newID, *call, options...)
				if err != nil {
					return run.explain(id, err)
				}
				return a.confirm(sent{WorkflowID: id, Sent: "fork --dry-run", ID: newID, Reason: text}, "This would be done: %s.\n", text)
			}
			h, err := e.Fork(ctx, id, newID, *call, options...)
			if err != nil {
				return run.explain(id, err)
			}
			how := fmt.Sprintf("goes on from call %d of %s", *call, id)
			if h.Attached() {
				how = "did so before"
			}
			return a.confirm(sent{WorkflowID: id, Sent: "fork", ID: newID, Reason: by.why}, "Workflow %s %s. See how it does: perdure show %s\n",
				newID, how, term.Quote(newID))
		})
	}
	by.addFlags(cmd)
	run.flag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&input, "input", "", "another input of the workflow, as `JSON`")
	flags.StringVar(&callInput, "call-input", "", "another input of the call, as `JSON`")
	flags.BoolVar(&dry, "dry-run", false, "only say what would be kept")
	return cmd
}

func callFlag(cmd *cobra.Command) *int64 {
	return cmd.Flags().Int64("call", 0, "`number` of the first call that is made anew")
}

func checkCall(cmd *cobra.Command, call int64) error {
	const hint = "See the numbers of calls: perdure history ID"
	switch {
	case !cmd.Flags().Changed("call"):
		return usage(hint, "It must be said from which call to go on: --call N.")
	case call < 1:
		return usage(hint, "There is no call %d.", call)
	}
	return nil
}
