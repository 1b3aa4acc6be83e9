package cli

import (
	"context"

	"github.com/perdure/perdure"
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
	opt.filter, err = opt.asked.Filter()
	opt.filter.Limit, opt.filter.MoreThan = limit, more
	return wrongParam(&opt.asked, err)
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

// find searches the ledger of all workflows, in pages, and shows as much as is wanted.
func find[T any](scr *screen, db *source, ctx context.Context, filter view.AttemptFilter, none string, page func(context.Context, *perdure.Engine, view.AttemptFilter) ([]T, string, error), table func(*screen, []T)) error {
	const size = 500
	return db.withEngine(ctx, func(e *perdure.Engine) error {
		var all []T
		limit := filter.Limit
		for full := false; !full; {
			if filter.Limit = size; limit > 0 {
				filter.Limit = min(size, limit-len(all))
			}
			some, next, err := page(ctx, e, filter)
			if err != nil {
				return err
			}
			all, filter.After = append(all, some...), next
			full = next == "" || limit > 0 && len(all) >= limit
		}
		err := showAll(scr, all, none+db.inGroup()+".", table)
		if err == nil && filter.After != "" {
			scr.cutOff("latest", len(all))
		}
		return err
	})
}
