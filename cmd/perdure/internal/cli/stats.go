package cli

import (
	"context"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func statsCommand(scr *screen, db *source) *cobra.Command {
	cmd := &cobra.Command{
		Use: "stats",
		Example: `  perdure stats activities --since 24h
  perdure stats hours
  perdure stats errors --since 1h`,
		Short: "Show how runs and steps went, hour by hour, and the errors",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(activityStatsCommand(scr, db), hourStatsCommand(scr, db), errorStatsCommand(scr, db))
	return cmd
}

func activityStatsCommand(scr *screen, db *source) *cobra.Command {
	var opt ledgerOptions
	cmd := &cobra.Command{
		Use:   "activities",
		Short: "Show how calls of each step ended, and what retries cost",
		Long: `Show, for each activity and step, how many calls there were and how they ended:
succeeded at the first try, recovered by retrying, exhausted, failed for another reason,
canceled, or by hand. MEDIAN and 95% are the times from when a call was scheduled to its
end, waiting included, which half of the calls and 95 of 100 did not exceed, to within a
half. RETRYING is the mean time from the end of the first attempt to the end of the call,
over calls that did not succeed at the first try.

Calls are counted in the hour in which they end, so --since and --until mean whole hours.
Up to 31 recent first-try successes of an open workflow may not be counted yet.`,
		Example: `  perdure stats activities
  perdure stats activities --since 24h -o json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opt.resolve(); err != nil {
				return err
			}
			return listed(scr, db, cmd.Context(), "No call has ended"+db.inGroup()+".", func(ctx context.Context, e *perdure.Engine) ([]view.ActivityStats, error) {
				return ops.ActivityStats(ctx, e, opt.filter.Since, opt.filter.Until)
			}, activityTable)
		},
	}
	opt.span(scr, cmd)
	return cmd
}

func activityTable(scr *screen, stats []view.ActivityStats) error {
	table := scr.table("WORKFLOW", "STEP", "CALLS", "FIRST TRY", "", "RECOVERED", "EXHAUSTED", "FAILED", "CANCELED", "BY HAND", "ATTEMPTS/CALL", "MEDIAN", "95%", "RETRYING")
	table.Right(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	table.Spare("BY HAND", "CANCELED", "", "ATTEMPTS/CALL", "MEDIAN")
	for _, s := range stats {
		table.Row(s.Workflow, s.Name, fmt.Sprint(s.Calls), fmt.Sprint(s.FirstTry), percent(s.FirstTryRate), fmt.Sprint(s.Recovered), fmt.Sprint(s.Exhausted),
			fmt.Sprint(s.Failed), fmt.Sprint(s.Canceled), fmt.Sprint(s.ByHand), fmt.Sprintf("%.2f", s.AttemptsPerCall), human.Took(s.Median), human.Took(s.P95), human.Duration(s.MeanRetrying))
	}
	return table.Write(scr.out)
}

func hourStatsCommand(scr *screen, db *source) *cobra.Command {
	var opt listing.Hours
	cmd := &cobra.Command{
		Use:   "hours",
		Short: "Show what began and ended in each hour",
		Long: `Show, for each hour of the last day or of another span, how many runs began, how many
ended and how, how many attempts the calls had that ended, and how long the runs took that
completed or failed: half of them and 95 of 100 took at most this, to within a half. With
--activity, the calls of an activity or step are counted instead of runs.`,
		Example: `  perdure stats hours
  perdure stats hours --type order --since 7d
  perdure stats hours --activity charge -o json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := opt.Filter(scr.env.Now())
			if err != nil {
				return err
			}
			return listed(scr, db, cmd.Context(), "", func(ctx context.Context, e *perdure.Engine) ([]view.HourStats, error) {
				return ops.HourStats(ctx, e, filter)
			}, hourTable)
		},
	}
	addParams(scr, cmd, &opt, "")
	return cmd
}

func hourTable(scr *screen, stats []view.HourStats) error {
	table := scr.table("HOUR", "STARTED", "COMPLETED", "FAILED", "CANCELED", "ATTEMPTS", "MEDIAN", "95%")
	table.Right(1, 2, 3, 4, 5, 6, 7)
	for i := range stats {
		s := &stats[i]
		table.Row(human.Hour(s.Hour), human.Count(int(s.Started)), human.Count(int(s.Completed)), painted(int(s.Failed), term.Bad), human.Count(int(s.Canceled)), human.Count(int(s.Attempts)),
			human.Took(s.Median), human.Took(s.P95))
	}
	return table.Write(scr.out)
}

// percent formats a share. It is 100% only if it is everything.
func percent(share float64) string {
	text := fmt.Sprintf("%.1f%%", 100*share)
	if text == "100.0%" && share < 1 {
		return "99.9%"
	}
	return text
}

func errorStatsCommand(scr *screen, db *source) *cobra.Command {
	var opt ledgerOptions
	cmd := &cobra.Command{
		Use:   "errors",
		Short: "Show which errors occur, how often, and whether calls recovered",
		Long: `Show the types of errors with which attempts ended, by activity or step, most frequent
first: how many attempts and calls, which share of these calls succeeded in the end, when
the error was seen first and last, and the latest message.`,
		Example: `  perdure stats errors --since 24h
  perdure stats errors --activity charge -o json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opt.resolve(); err != nil {
				return err
			}
			return listed(scr, db, cmd.Context(), "No errors match"+db.inGroup()+".", func(ctx context.Context, e *perdure.Engine) ([]view.ErrorStats, error) {
				return ops.ErrorStats(ctx, e, opt.filter)
			}, errorTable)
		},
	}
	opt.flags(scr, cmd)
	return cmd
}

func errorTable(scr *screen, stats []view.ErrorStats) error {
	table := scr.table("ERROR", "STEP", "ATTEMPTS", "CALLS", "RECOVERED", "FIRST SEEN", "LAST SEEN", "LATEST IN", "MESSAGE")
	table.Right(2, 3, 4)
	table.Spare("FIRST SEEN", "LATEST IN", "CALLS")
	for _, s := range stats {
		table.Row(s.ErrorType, s.Name, fmt.Sprint(s.Attempts), fmt.Sprint(s.Calls), percent(s.RecoveredShare), scr.ago(s.First), scr.ago(s.Last),
			s.Example.WorkflowID, s.Example.Message)
	}
	return table.Write(scr.out)
}
