package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/near"
	"github.com/perdure/perdure/ops"
	"github.com/spf13/cobra"
)

// sent is the confirmation of a sent message, for programs.
type sent struct {
	WorkflowID string `json:"workflow_id,omitempty"`
	Sent       string `json:"sent"` // name of the command
	Signal     string `json:"signal,omitempty"`
	Gate       string `json:"gate,omitempty"`
	Schedule   string `json:"schedule,omitempty"`
	ID         string `json:"id,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// confirm says that a message was sent.
func (a *app) confirm(s sent, format string, args ...any) error {
	if a.format != formatTable {
		return a.document(s)
	}
	a.printf(format, args...)
	return nil
}

// tellCommand returns a command that sends a request to a gate or a schedule. It takes
// effect when the owner sees it.
func (a *app) tellCommand(kind, use, did, short, long, example string, do func(ctx context.Context, e *perdure.Engine, name string, options ...ops.ControlOption) error) *cobra.Command {
	var who person
	cmd := &cobra.Command{Use: use, Short: short, Long: short + ".\n\n" + long, Example: example, Args: arguments}
	once := onceFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withNamed(cmd.Context(), kind, args[0], func(e *perdure.Engine) error {
			if err := do(cmd.Context(), e, args[0], append(once(), ops.By(a.user(who)), ops.Why(who.why))...); err != nil {
				return err
			}
			s := sent{Sent: cmd.Name(), Schedule: args[0]}
			if kind == "gate" {
				s = sent{Sent: cmd.Name(), Gate: args[0], Reason: who.why}
			}
			return a.confirm(s, "The %s %s is %s%s as soon as an engine sees this.\n", kind, args[0], did, a.inGroup())
		})
	}
	who.addFlags(cmd)
	cmd.ValidArgsFunction = a.completeArgument(map[string]namesFrom{"gate": gateNames, "schedule": scheduleNames}[kind])
	return cmd
}

// withNamed opens the database for a command about one gate or schedule.
func (a *app) withNamed(ctx context.Context, kind, name string, f func(e *perdure.Engine) error) error {
	return a.withEngine(ctx, func(e *perdure.Engine) error {
		err := f(e)
		if errors.Is(err, perdure.ErrNotFound) {
			hint := "See which ones there are: " + a.sameDatabase("perdure "+kind+"s")
			known := names{}
			list := map[string]func(context.Context, *perdure.Engine, names) error{"gate": gateNames, "schedule": scheduleNames}[kind]
			if err := list(ctx, e, known); err == nil {
				hint = strings.TrimPrefix(near.Hint(name, maps.Keys(known))+" "+hint, " ")
			}
			if kind == "gate" {
				hint += " (a gate appears when the first call comes to it)"
			}
			return &Error{Code: exitNotFound, What: fmt.Sprintf("There is no %s %q in %s.", kind, name, a.place(e)), Hint: hint}
		}
		return err
	})
}
