package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func auditCommand(scr *screen, db *source) *cobra.Command {
	var span listing.Span
	filter := view.AuditFilter{Limit: 100}
	cmd := &cobra.Command{
		Use:   "audit [ID]",
		Short: "Show who did what, when and why",
		Long: `Show what was done to a workflow and its calls: by whom, when, why, and with which
outcome; and where the engine itself made a call wait for a person.

Without an ID, show this of everything, latest first: workflows and their calls,
activities that were paused and resumed as a whole, canaries of builds, gates and schedules, which remember
the last hundred requests each. What was done to a workflow is in its history, so the
workflows that started last are read; those that closed before --since are not. --before
continues with those that started earlier.`,
		Example: `  perdure audit
  perdure audit order-17
  perdure audit --since 12h --limit 0 -o jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return auditGroup(scr, db, cmd.Context(), span, filter)
			}
			if flag := anyChanged(cmd, []string{"since", "until", "limit", "runs", "before"}); flag != "" {
				return usage("Leave one of them out.", "--%s is for the audit over everything, without an ID.", flag)
			}
			return db.withRun(cmd.Context(), args[0], func(e *perdure.Engine) error {
				records, err := e.Workflow(args[0]).Audit(cmd.Context())
				if err != nil {
					return err
				}
				return showAll(scr, records, "Nothing was done to workflow "+args[0]+" or its calls.", controlTable)
			})
		},
	}
	addParams(scr, cmd, &span, "")
	limited(cmd.Flags(), &filter.Limit, "without an ID: at most this `number`; 0 for all")
	number(cmd.Flags(), &filter.Runs, "runs", 0, mostAudited, fmt.Sprintf("Use a number from 1 to %d, or 0.", mostAudited), "without an ID: read the `number` of workflows that started last; 0 for 1,000, or fewer with long histories")
	cmd.Flags().StringVar(&filter.Before, "before", "", "without an ID: only what was done to workflows that started before this `run`")
	return cmd
}

func auditGroup(scr *screen, db *source, ctx context.Context, span listing.Span, filter view.AuditFilter) error {
	if err := span.Check(); err != nil {
		return wrongParam(&span, err)
	}
	filter.Since, filter.Until, filter.Limit = span.Since.At, span.Until.At, cmp.Or(filter.Limit, mostAudited)
	return db.withEngine(ctx, func(e *perdure.Engine) error {
		found, err := ops.Audit(ctx, e, filter)
		if err != nil {
			return err
		}
		err = showAll(scr, found.Records, "Nothing that was done"+db.inGroup()+" is on record; what no engine has seen yet is not.", auditTable)
		if err != nil || scr.format != formatTable {
			return err
		}
		if len(found.Records) > 0 {
			if err := pausedNow(scr, ctx, e); err != nil {
				return err
			}
		}
		if found.More {
			scr.cutOff("entries, the latest", len(found.Records))
		}
		if found.Unread {
			scr.printf("\nThe workflows that started last were read, %d in all. To read those before them: --before %s\n", found.Runs, found.Searched)
		}
		return nil
	})
}

// mostAudited is the maximum number of runs that are read and of entries that are shown.
const mostAudited = 1_000_000

// pausedNow prints the activities that are paused in the whole group.
func pausedNow(scr *screen, ctx context.Context, e *perdure.Engine) error {
	current, err := ops.PausedActivities(ctx, e)
	var names []string
	for _, r := range current {
		name := r.Name
		if r.Until != nil {
			name += " (until " + human.Time(*r.Until) + ")"
		}
		names = append(names, name)
	}
	if len(names) > 0 {
		scr.printf("\nPaused now: %s\n", strings.Join(names, ", "))
	}
	return err
}

// controlTable shows operations on calls and workflows.
func controlTable(scr *screen, records []view.ControlRecord) {
	table := scr.table("TIME", "ID", "\tCALL", "NAME", "OPERATION", "OUTCOME", "BY", "WHY", "NOTE")
	table.Spare("ID", "NOTE")
	for _, r := range records {
		table.Row(scr.ago(r.Time), r.WorkflowID, unlessZero(r.Call), r.Name, r.Operation, r.Outcome, cmp.Or(r.By, "(the engine)"), r.Why, r.Note)
	}
	table.Write(scr.out)
}

// auditTable shows operations in the whole group.
func auditTable(scr *screen, records []view.AuditRecord) {
	table := scr.table("TIME", "KIND", "NAME", "\tCALL", "STEP", "OPERATION", "OUTCOME", "BY", "WHY", "NOTE")
	table.Spare("STEP", "CALL", "NOTE", "KIND")
	for _, r := range records {
		table.Row(scr.ago(r.Time), r.Kind, r.Name, unlessZero(r.Call), r.Step, r.Operation, r.Outcome, cmp.Or(r.By, "(the engine)"), r.Why, r.Note)
	}
	table.Write(scr.out)
}
