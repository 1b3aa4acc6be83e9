package cli

import (
	"context"
	"fmt"
	"math"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func doctorCommand(scr *screen, db *source) *cobra.Command {
	var opt struct {
		Since param.Moment `flag:"since" help:"only workflows started since this {time}: how long ago (90m, 24h, 7d), yesterday, 2026-11-21, or a time such as 2026-11-21T15:04:05Z"`
	}
	limit := 1000
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong with the database",
		Long: `Check all that is on record, and say what is damaged, missing or left behind, what contradicts
the rest, and what to do about it: histories, workflows and their calls, attempts, gates and
schedules. Then check the database itself: rows that belong to nothing, messages that no node
reads, clocks that differ, connections, timeouts, dead rows, and transactions that hold up
others. The command changes nothing, and engines may run meanwhile.

The exit code is 7 if something is wrong.`,
		Example: `  perdure doctor
  perdure doctor --since 24h -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter := view.DoctorFilter{Since: opt.Since.At, Limit: limit}
			return db.withEngine(cmd.Context(), func(e *perdure.Engine) error { return doctor(scr, cmd.Context(), e, filter) })
		},
	}
	addParams(scr, cmd, &opt, "")
	number(cmd.Flags(), &limit, "limit", 0, math.MaxInt32, "Use a number from 1, or 0 for 1,000.", "at most this `number`")
	return cmd
}

func doctor(scr *screen, ctx context.Context, e *perdure.Engine, filter view.DoctorFilter) error {
	filter.Progress = scr.counted()
	c, err := ops.Doctor(ctx, e, filter)
	if err != nil {
		return err
	}
	return scr.judge(c, c.OK, "Something on record is wrong.", func() {
		scr.printf("Read %s with %s, and %s.\n", human.Plural(c.Runs, "run", "runs"), human.Plural(c.Turns, "turn", "turns"), human.Plural(c.Others, "gate or schedule", "gates and schedules"))
		if c.OK {
			scr.printf("%s\n", term.Painted{Text: "Nothing is wrong.", Colour: term.Good})
			return
		}
		scr.printf("%s\n", term.Painted{Text: human.Plural(len(c.Findings), "thing is wrong:", "things are wrong:"), Colour: term.Bad})
		for _, f := range c.Findings {
			scr.printf("\n%s\n  %s\n  %s.\n", whose(f), f.Problem, f.Do)
		}
		if c.More {
			scr.printf("\nThere is more. Set a higher --limit.\n")
		}
	})
}

// whose names the object of a finding.
func whose(f view.Finding) string {
	switch {
	case f.Gate != "" && f.RunID != "":
		return fmt.Sprintf("gate %s, workflow %s, run %s", f.Gate, f.WorkflowID, f.RunID)
	case f.Gate != "":
		return "gate " + f.Gate
	case f.Subject != "":
		return f.Subject
	case f.Schedule != "":
		return "schedule " + f.Schedule
	}
	return fmt.Sprintf("%s  run %s  %s", f.WorkflowID, f.RunID, f.Status)
}
