package cli

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

// ledgerOptions are the flags that select attempts.
type ledgerOptions struct {
	asked  listing.Attempts
	filter view.AttemptFilter // made of them
}

// flags adds the flags, and span only those for a time span.
func (opt *ledgerOptions) flags(scr *screen, cmd *cobra.Command) { addParams(scr, cmd, &opt.asked, "") }
func (opt *ledgerOptions) span(scr *screen, cmd *cobra.Command) {
	addParams(scr, cmd, &opt.asked.Span, "")
}

// resolve makes the filter.
func (opt *ledgerOptions) resolve() (err error) {
	limit, more := opt.filter.Limit, opt.filter.MoreThan
	switch {
	case limit < 0:
		return usage("Use a number from 1, or 0 for all.", "The limit is %d.", limit)
	case more < 0:
		return usage("Use a number from 0.", "--more-than is %d.", more)
	}
	opt.filter, err = opt.asked.Filter()
	opt.filter.Limit, opt.filter.MoreThan = limit, more
	return wrongParam(&opt.asked, err)
}

// moment parses a time, or how long ago it was.
func moment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, ok := human.Moment(text, now); ok {
		return t, nil
	}
	return time.Time{}, usage("Give how long ago it is (90m, 24h, 7d), yesterday, a date, or a time such as "+now.UTC().Format(time.RFC3339)+".",
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
