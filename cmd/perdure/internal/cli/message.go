package cli

import (
	"context"
	"slices"

	"github.com/perdure/perdure"
	"github.com/spf13/cobra"
)

func (a *app) signalCommand() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "signal ID NAME [JSON]",
		Short: "Send a signal to workflows",
		Long: `Send a signal with a value to a workflow. The value is JSON; without one it is null,
and with - it is read from standard input. When the command returns, the signal is in
the database: no crash loses it.

With --id the signal has a name of its own, so that sending it again does nothing.

With --all it is sent to many, each of which is waited for, and the arguments are
NAME [JSON].`,
		Example: `  perdure signal order-17 approved true
  perdure signal order-17 address '{"city": "Lyon"}' --id address-change-4
  perdure signal order-17 comment '"a text needs quotes inside quotes"'
  perdure signal --all --type checkout close --dry-run`,
		ValidArgsFunction: a.completeID,
	}
	c := runOperation(cmd)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if c.all {
			return nil // signalAll looks at them
		}
		return arguments(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if c.all {
			return a.signalAll(cmd, c, args)
		}
		if flag := anyChanged(cmd, slices.Concat(selecting, answered, []string{"reason", "by", "retrying", "error"})); flag != "" {
			return usage("Add --all, or leave it away.", "--%s has a meaning for many workflows only.", flag)
		}
		if cmd.Flags().Changed("id") && key == "" {
			return usage("Leave --id away, or give the signal a name.", "The --id is empty.")
		}
		value := "null"
		if len(args) == 3 {
			value = args[2]
		}
		return a.signal(cmd.Context(), args[0], args[1], value, key)
	}
	cmd.Flags().StringVar(&key, "id", "", "`name` of this signal, by which a repeated one is known")
	return cmd
}

// sent is the answer of the commands that send something, for programs.
type sent struct {
	WorkflowID string `json:"workflow_id,omitempty"`
	Sent       string `json:"sent"` // the name of the command
	Signal     string `json:"signal,omitempty"`
	Gate       string `json:"gate,omitempty"`
	Schedule   string `json:"schedule,omitempty"`
	ID         string `json:"id,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

func (a *app) signal(ctx context.Context, id, name, value, key string) error {
	payload, err := a.jsonValue("value of the signal", value)
	if err != nil {
		return err
	}
	var options []perdure.SignalOption
	if key != "" {
		options = append(options, perdure.SignalID(key))
	}
	return a.withRun(ctx, id, func(e *perdure.Engine) error {
		if err := e.SignalJSON(ctx, id, name, payload, options...); err != nil {
			return err
		}
		return a.confirm(sent{WorkflowID: id, Sent: "signal", Signal: name, ID: key},
			"Signal %s is in the database; workflow %s reads it when it asks for it.\n", name, id)
	})
}

// confirm says that a message was sent.
func (a *app) confirm(s sent, format string, args ...any) error {
	if a.format != formatTable {
		return a.document(s)
	}
	a.printf(format, args...)
	return nil
}
