package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func (a *app) auditCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "audit [ID]",
		Short: "Show who did what to a workflow, when and why",
		Long: `Show what was done to a workflow and its calls: by whom, when, why, and with which
outcome; and where the engine itself made a call wait for a person. Without an ID, show
which activities were paused and resumed as a whole.`,
		Example: `  perdure audit order-17
  perdure audit -o json`,
		Args:              arguments,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.auditGroup(cmd.Context())
			}
			return a.audit(cmd.Context(), args[0])
		},
	}
}

func (a *app) audit(ctx context.Context, id string) error {
	return a.withRun(ctx, id, func(e *perdure.Engine) error {
		records, err := e.Workflow(id).Audit(ctx)
		if err != nil {
			return err
		}
		return listing(a, records, "Nothing was done to workflow "+id+" or its calls.", a.controlTable)
	})
}

func (a *app) auditGroup(ctx context.Context) error {
	return a.withEngine(ctx, func(e *perdure.Engine) error {
		records, err := ops.Switches(ctx, e)
		if err != nil {
			return err
		}
		return listing(a, records, "No activity has been paused as a whole"+a.inGroup()+".", func(records []view.SwitchRecord) error {
			if err := a.switchTable(records); err != nil {
				return err
			}
			return a.pausedNow(ctx, e)
		})
	})
}

// pausedNow names the activities that are paused in the whole group.
func (a *app) pausedNow(ctx context.Context, e *perdure.Engine) error {
	current, err := ops.PausedActivities(ctx, e)
	var names []string
	for _, r := range current {
		names = append(names, r.Name)
	}
	if len(names) > 0 {
		a.printf("\nPaused now: %s\n", strings.Join(names, ", "))
	}
	return err
}

// controlTable shows what was done to calls and workflows.
func (a *app) controlTable(records []view.ControlRecord) error {
	table := a.table("TIME", "ID", "CALL", "NAME", "OPERATION", "OUTCOME", "BY", "WHY", "NOTE")
	table.Right(2)
	for _, r := range records {
		call := ""
		if r.Call > 0 {
			call = fmt.Sprint(r.Call)
		}
		by := r.By
		if by == "" {
			by = "(the engine)"
		}
		table.Row(term.Time(r.Time), r.WorkflowID, call, r.Name, r.Operation, r.Outcome, by, r.Why, r.Note)
	}
	return table.Write(a.out)
}

// switchTable shows what was paused and resumed in the whole group.
func (a *app) switchTable(records []view.SwitchRecord) error {
	table := a.table("TIME", "KIND", "NAME", "OPERATION", "BY", "WHY")
	for _, r := range records {
		operation := "resume"
		if r.Paused {
			operation = "pause"
		}
		table.Row(term.Time(r.Time), r.Kind, r.Name, operation, r.By, r.Why)
	}
	return table.Write(a.out)
}
