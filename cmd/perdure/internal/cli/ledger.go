package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// outcomes are the values of --outcome.
var outcomes = []string{"completed", "failed", "timed-out", "lost", "drained", "canceled", "refused"}

// ledgerOptions are the flags that select attempts.
type ledgerOptions struct {
	filter       view.AttemptFilter
	since, until string
}

func (opt *ledgerOptions) flags(cmd *cobra.Command) *pflag.FlagSet {
	flags := cmd.Flags()
	flags.StringVar(&opt.filter.Activity, "activity", "", "only of the activity or step with this `name`")
	flags.StringVar(&opt.filter.ErrorType, errorType, "", "only those that ended with this `type` of error, such as Timeout")
	flags.StringVar(&opt.filter.Outcome, "outcome", "", "only those that ended in this `way`: "+strings.Join(outcomes, ", "))
	flags.StringVar(&opt.filter.Reason, "reason", "", "only those with this `reason` for what followed, such as max_attempts")
	flags.StringVar(&opt.filter.Workflow, "type", "", "only of the workflow with this `name`")
	opt.span(flags)
	_ = cmd.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions(outcomes, cobra.ShellCompDirectiveNoFileComp))
	return flags
}

// span adds the flags for a time span.
func (opt *ledgerOptions) span(flags *pflag.FlagSet) {
	flags.StringVar(&opt.since, "since", "", "only since this `time`: how long ago (90m, 24h, 7d), or a time such as 2026-11-21T15:04:05Z")
	flags.StringVar(&opt.until, "until", "", "only before this `time`")
}

// resolve checks the flags and parses the times.
func (opt *ledgerOptions) resolve(now time.Time) (err error) {
	f := &opt.filter
	switch {
	case f.Outcome != "" && !slices.Contains(outcomes, f.Outcome):
		return usage("Use one of: "+strings.Join(outcomes, ", "), "There is no outcome %q.", f.Outcome)
	case f.Limit < 0:
		return usage("Use a number from 1, or 0 for all.", "The limit is %d.", f.Limit)
	case f.MoreThan < 0:
		return usage("Use a number from 0.", "--more-than is %d.", f.MoreThan)
	}
	if f.Since, err = moment("since", opt.since, now); err == nil {
		f.Until, err = moment("until", opt.until, now)
	}
	if err == nil && !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return usage("Exchange them, or leave one out.", "--since %s is not before --until %s.", opt.since, opt.until)
	}
	return err
}

// moment parses a time, or how long ago it was.
func moment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, ok := human.Moment(text, now); ok {
		return t, nil
	}
	return time.Time{}, usage("Give how long ago it is (90m, 24h, 7d), or a time such as "+now.UTC().Format(time.RFC3339)+".",
		"%q is not a time for --%s.", text, flag)
}

// selector returns the filter for attempts of one workflow, nil for all.
func (opt *ledgerOptions) selector() func(*view.Attempt) bool {
	f := opt.filter
	if f.Limit = 0; f == (view.AttemptFilter{}) {
		return nil
	}
	return opt.selects
}

// selects reports whether the flags select an attempt of one workflow.
func (opt *ledgerOptions) selects(t *view.Attempt) bool {
	f := &opt.filter
	timed := f.Since.IsZero() && f.Until.IsZero() ||
		t.Ended != nil && !t.Ended.Before(f.Since) && (f.Until.IsZero() || t.Ended.Before(f.Until))
	return timed && (f.Activity == "" || t.Name == f.Activity) && (f.ErrorType == "" || t.ErrorType == f.ErrorType) &&
		(f.Outcome == "" || t.Outcome == f.Outcome) && (f.Reason == "" || t.Reason == f.Reason)
}

// find reads pages of the ledger until it has as many records as wanted, and reports
// whether there are more.
func find[T any](ctx context.Context, e *perdure.Engine, filter view.AttemptFilter, page func(context.Context, *perdure.Engine, view.AttemptFilter) ([]T, string, error)) (all []T, more bool, err error) {
	const size = 500
	limit := filter.Limit
	for {
		if filter.Limit = size; limit > 0 {
			filter.Limit = min(size, limit-len(all))
		}
		some, next, err := page(ctx, e, filter)
		if err != nil {
			return nil, false, err
		}
		all = append(all, some...)
		if next == "" || limit > 0 && len(all) >= limit {
			return all, next != "", nil
		}
		filter.After = next
	}
}
