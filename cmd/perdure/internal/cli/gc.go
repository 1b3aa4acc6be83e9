package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

// ending is a kind of end for which runs are kept, and its field in a retention.
type ending struct {
	name string
	keep func(r *view.Retention) *time.Duration
}

var endings = []ending{
	{"completed", func(r *view.Retention) *time.Duration { return &r.Completed }},
	{"failed", func(r *view.Retention) *time.Duration { return &r.Failed }},
	{"canceled", func(r *view.Retention) *time.Duration { return &r.Canceled }},
	{"terminated", func(r *view.Retention) *time.Duration { return &r.Terminated }},
	{"timed-out", func(r *view.Retention) *time.Duration { return &r.TimedOut }},
}

func endingNames() []string {
	names := make([]string, len(endings))
	for i, e := range endings {
		names[i] = e.name
	}
	return names
}

// gcFlags say what to delete.
type gcFlags struct {
	older, chains, statistics, switches string
	status                              []string
	dry                                 bool
}

func (a *app) gcCommand() *cobra.Command {
	var f gcFlags
	names := endingNames()
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Delete closed workflows",
		Long: `Delete workflows that closed longer ago than --older-than, with their histories and
attempts. Open runs are never deleted. The earlier runs of a chain go with its last one;
--continued deletes those of chains that stay. Engines may run meanwhile: runs are
deleted a few at a time. Engines can do the same by themselves: perdure.Retain`,
		Example: `  perdure gc --older-than 30d --dry-run
  perdure gc --older-than 30d --status completed,canceled
  perdure gc --statistics 400d --switches 90d`,
		Args: a.noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keep, err := f.retention()
			if err != nil {
				return err
			}
			return a.gc(cmd.Context(), keep, f.dry)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.older, "older-than", "", "delete what closed longer ago than this `duration`: 90m, 24h, 30d")
	flags.StringSliceVar(&f.status, "status", nil, "only what closed with this `status`; several with commas: "+strings.Join(names, ", "))
	flags.StringVar(&f.chains, "continued", "", "delete earlier runs of chains that closed longer ago than this `duration`, even of open chains")
	flags.StringVar(&f.statistics, "statistics", "", "delete counters of perdure stats older than this `duration`")
	flags.StringVar(&f.switches, "switches", "", "delete superseded log entries of paused activities older than this `duration`")
	flags.BoolVar(&f.dry, "dry-run", false, "only count what would be deleted")
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// retention returns the retention of the flags.
func (f *gcFlags) retention() (keep view.Retention, err error) {
	var older time.Duration
	for _, d := range []struct {
		flag, text string
		into       *time.Duration
	}{
		{"older-than", f.older, &older}, {"continued", f.chains, &keep.Continued},
		{"statistics", f.statistics, &keep.Statistics}, {"switches", f.switches, &keep.Switches},
	} {
		if *d.into, err = age(d.flag, d.text); err != nil {
			return keep, err
		}
	}
	if f.older == "" && len(f.status) > 0 {
		return keep, usage("Give an age with --older-than.", "--status alone does not say what to delete.")
	}
	for _, s := range f.status {
		if names := endingNames(); !slices.Contains(names, s) {
			return keep, usage("Use one of: "+strings.Join(names, ", "), "%q is not the status of a closed workflow.", s)
		}
	}
	for _, e := range endings {
		if len(f.status) == 0 || slices.Contains(f.status, e.name) {
			*e.keep(&keep) = older
		}
	}
	if keep == (view.Retention{}) {
		return keep, usage("Give --older-than, --continued, --statistics or --switches.", "There is nothing to delete.")
	}
	return keep, nil
}

// age parses how long ago something was, which may be in days.
func age(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && n > 0 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, usage("Give an age such as 90m, 24h or 30d.", "%q is not an age for --%s.", human.Clip(text, 40), flag)
}

func (a *app) gc(ctx context.Context, keep view.Retention, dry bool) error {
	return a.withEngine(ctx, func(e *perdure.Engine) error {
		sweep := ops.Sweep
		if dry {
			sweep = ops.PreviewSweep
		}
		r, err := sweep(ctx, e, keep)
		if err != nil {
			return err
		}
		if a.format != formatTable {
			return a.document(r)
		}
		said := "Deleted " + human.Plural(r.Runs, "run", "runs")
		if dry {
			said = human.Plural(r.Runs, "run", "runs") + " would be deleted"
		}
		var parts []string
		for _, s := range slices.Sorted(maps.Keys(r.Status)) {
			parts = append(parts, fmt.Sprintf("%d %s", r.Status[s], s))
		}
		if len(parts) > 0 {
			said += " (" + strings.Join(parts, ", ") + ")"
		}
		a.printf("%s.\n", said)
		return nil
	})
}
