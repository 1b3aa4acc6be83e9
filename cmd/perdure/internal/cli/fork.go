package cli

import (
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/ops"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) forkCommand() *cobra.Command {
	var by person
	var run whichRun
	var from fromCall
	var input, callInput string
	var dry bool
	cmd := &cobra.Command{
		Use:   "fork ID NEWID",
		Short: "Start a copy of a workflow that continues from one of its calls",
		Long: `Start a workflow under a new ID that goes on from a call of another one, which is not
touched: see perdure reset. With --call-input that call gets another input, if it is of
an activity or a child; with --input the workflow does. If its code then does something
else before that call, it is parked with the difference.`,
		Example: `  perdure fork order-17 order-17-again --call 4
  perdure fork order-17 what-if --call 4 --call-input '{"cents": 100}'`,
		Args:              arguments,
		ValidArgsFunction: a.completeID,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 2 {
			return usage("Usage: "+cmd.UseLine(), "Two IDs are needed: that of the workflow, and a new one.")
		}
		if err := from.check(cmd); err != nil {
			return err
		}
		id, newID, ctx := args[0], args[1], cmd.Context()
		spec := ops.ForkSpec{WorkflowID: id, RunID: run.id, NewID: newID, Call: from.call, KeepKeys: from.keepKeys}
		for _, value := range []struct {
			flag, text string
			to         *any
		}{{"input", input, &spec.Input}, {"call-input", callInput, &spec.CallInput}} {
			if !cmd.Flags().Changed(value.flag) {
				continue
			}
			payload, err := a.jsonValue("--"+value.flag, value.text)
			if err != nil {
				return err
			}
			*value.to = payload
		}
		return a.withRun(ctx, id, func(e *perdure.Engine) error {
			if dry {
				text, err := ops.PreviewFork(ctx, e, spec)
				if err != nil {
					return run.explain(a, id, err)
				}
				return a.confirm(sent{WorkflowID: id, Sent: "fork --dry-run", ID: newID, Reason: text}, "Would fork: %s.\n", text)
			}
			f, err := ops.Fork(ctx, e, spec, ops.By(a.user(by)), ops.Why(by.why))
			if err != nil {
				return run.explain(a, id, err)
			}
			how := fmt.Sprintf("continues from call %d of %s", from.call, id)
			if f.Attached {
				how = "was forked before"
			}
			return a.confirm(sent{WorkflowID: id, Sent: "fork", ID: newID, Reason: by.why}, "Workflow %s %s. To see its progress: %s\n",
				newID, how, a.sameDatabase("perdure show "+term.Quote(newID)))
		})
	}
	by.addFlags(cmd)
	run.flag(cmd)
	flags := cmd.Flags()
	from.flag(flags)
	flags.StringVar(&input, "input", "", "another input of the workflow, as `JSON`")
	flags.StringVar(&callInput, "call-input", "", "another input of the call, as `JSON`")
	flags.BoolVar(&dry, "dry-run", false, "only say what would be kept")
	return cmd
}

// fromCall is the flag with the call from which a workflow runs again.
type fromCall struct {
	call     int64
	keepKeys bool
}

func (f *fromCall) flag(flags *pflag.FlagSet) {
	flags.Int64Var(&f.call, "call", 0, "`number` of the first call that runs again")
	flags.BoolVar(&f.keepKeys, "keep-keys", false, "calls that run again keep their idempotency keys")
}

func (f *fromCall) check(cmd *cobra.Command) error {
	const hint = "See the numbers of calls: perdure history ID"
	switch {
	case !cmd.Flags().Changed("call"):
		return usage(hint, "The call to continue from is missing: --call N.")
	case f.call < 1:
		return usage(hint, "There is no call %d.", f.call)
	}
	return nil
}
