package cli

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// selector is a filter for attempts of one workflow, nil for all.
func selector(f view.AttemptFilter) func(*view.Attempt) bool {
	if f == (view.AttemptFilter{}) {
		return nil
	}
	return func(t *view.Attempt) bool {
		timed := f.Since.IsZero() && f.Until.IsZero() ||
			t.Ended != nil && !t.Ended.Before(f.Since) && (f.Until.IsZero() || t.Ended.Before(f.Until))
		return timed && (f.Activity == "" || t.Name == f.Activity) && (f.ErrorType == "" || t.ErrorType == f.ErrorType) &&
			(f.Outcome == "" || t.Outcome == f.Outcome) && (f.Reason == "" || t.Reason == f.Reason)
	}
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
