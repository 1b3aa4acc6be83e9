package cli

import (
	"context"
	"encoding/json"
	"io"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/spf13/cobra"
)

func (a *app) signalCommand() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "signal ID NAME [JSON]",
		Short: "Send a signal to a workflow",
		Long: `Send a signal with a value to a workflow. The value is JSON; without one it is null,
and with - it is read from standard input. When the command returns, the signal is in
the database: no crash loses it.

With --id the signal has a name of its own, so that sending it again does nothing.`,
		Example: `  perdure signal order-17 approved true
  perdure signal order-17 address '{"city": "Lyon"}' --id address-change-4
  perdure signal order-17 comment '"a text needs quotes inside quotes"'`,
		Args:              arguments,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("id") && key == "" {
				return usage("Leave --id away, or give the signal a name.", "The --id is empty.")
			}
			value := "null"
			if len(args) == 3 {
				value = args[2]
			}
			return a.signal(cmd.Context(), args[0], args[1], value, key)
		},
	}
	cmd.Flags().StringVar(&key, "id", "", "`name` of this signal, by which a repeated one is known")
	return cmd
}

// sent is the answer of the commands that send something, for programs.
type sent struct {
	WorkflowID string `json:"workflow_id,omitempty"`
	Sent       string `json:"sent"` // signal, cancel, terminate, complete, fail-attempt
	Signal     string `json:"signal,omitempty"`
	ID         string `json:"id,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

func (a *app) signal(ctx context.Context, id, name, value, key string) error {
	payload, err := a.value("value of the signal", value)
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
			"Signal %s is in the database; workflow %s reads it when it asks for it.\n", term.Escape(name), term.Escape(id))
	})
}

// value reads a JSON argument, or standard input for -.
func (a *app) value(what, text string) (json.RawMessage, error) {
	if text == "-" {
		const most = 16 << 20
		read, err := io.ReadAll(io.LimitReader(a.env.Stdin, most+1))
		if err != nil {
			return nil, err
		}
		if len(read) > most {
			return nil, usage("Keep large data elsewhere and send where it is.", "The %s is larger than %d MiB.", what, most>>20)
		}
		text = string(read)
	}
	if !json.Valid([]byte(text)) {
		return nil, usage(`A text needs double quotes inside of single ones: '"like this"'.`, "The %s is not JSON: %s", what, term.Clip(text, 60))
	}
	return json.RawMessage(text), nil
}

func (a *app) cancelCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Ask a workflow to end",
		Long: `Ask a workflow to end. Its code is told and can clean up; what it is waiting for is
given up. Asking again does nothing. To end it without asking: perdure terminate`,
		Example:           `  perdure cancel order-17 --reason "the customer called"`,
		Args:              arguments,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRun(cmd.Context(), args[0], func(e *perdure.Engine) error {
				if err := e.Cancel(cmd.Context(), args[0], reason); err != nil {
					return err
				}
				return a.confirm(sent{WorkflowID: args[0], Sent: "cancel", Reason: reason},
					"Workflow %s is asked to end. See how it does: perdure show %s\n", term.Escape(args[0]), term.Quote(term.Escape(args[0])))
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why`, for whoever looks at it later")
	return cmd
}

func (a *app) terminateCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "terminate ID",
		Short: "End a workflow without asking it",
		Long: `End a workflow at once. Its code is not told and cleans nothing up. To ask it to end:
perdure cancel`,
		Example:           `  perdure terminate order-17 --reason "started by mistake"`,
		Args:              arguments,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRun(cmd.Context(), args[0], func(e *perdure.Engine) error {
				if err := e.Terminate(cmd.Context(), args[0], reason); err != nil {
					return err
				}
				return a.confirm(sent{WorkflowID: args[0], Sent: "terminate", Reason: reason},
					"Workflow %s is ended as soon as its engine sees this; if none runs, when one starts.\n", term.Escape(args[0]))
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why`, for whoever looks at it later")
	return cmd
}

// confirm says that a message was sent.
func (a *app) confirm(s sent, format string, args ...any) error {
	if a.format != formatTable {
		return a.document(s)
	}
	a.printf(format, args...)
	return nil
}
