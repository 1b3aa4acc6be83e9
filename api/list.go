package api

import (
	"cmp"
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

type listQuery struct {
	listing.Runs
	listing.ByCalls
	listing.ByText
	Waits  bool   `query:"waits" doc:"say what each open run waits for, which costs a few reads each"`
	Before string `query:"before" doc:"next of the page before"`
	Limit  int    `query:"limit" doc:"maximum number, up to 1000; default 100"`
}

type runList struct {
	Runs []view.Run `json:"runs" doc:"newest first"`
	Next string     `json:"next,omitempty" doc:"before of the next page, if there is one"`
	// Partial says that the page may lack runs that match.
	Partial bool `json:"partial,omitempty" doc:"only about the newest 100,000 runs (25,000 by error_type; 5,000 by text; 1,000 of those that may be retrying or paused) were looked at, and fewer found than asked for; continue with next"`
}

// selectRuns reads a page of runs.
func selectRuns(ctx context.Context, e *perdure.Engine, q listQuery) (l runList, err error) {
	filter, err := q.Runs.Filter(&q.ByCalls)
	if err != nil {
		return l, err
	}
	limit := cmp.Or(q.Limit, 100)
	if limit > 1000 {
		return l, badRequest("the limit is %d; at most 1000 runs are listed on a page", limit)
	}
	filter.Text, filter.Before, filter.Waits, filter.Limit = q.Text, q.Before, q.Waits, limit+1
	page, err := ops.Search(ctx, e, filter)
	l.Runs, l.Next, l.Partial = append([]view.Run{}, page.Runs...), page.Searched, page.Searched != ""
	if len(l.Runs) > limit {
		l.Runs, l.Next = l.Runs[:limit], l.Runs[limit-1].RunID
	}
	return l, err
}
