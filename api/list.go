package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

type listQuery struct {
	runFilter
	Retrying bool   `query:"retrying" doc:"only those with a call that failed and waits for another attempt: in backoff, at a gate, in a queue or for a slot"`
	Waits    bool   `query:"waits" doc:"say what each open run waits for, which costs a few reads each"`
	Before   string `query:"before" doc:"next of the page before"`
	Limit    int    `query:"limit" doc:"at most so many, up to 1000; default 100"`
}

type runList struct {
	Runs []view.Run `json:"runs"`
	Next string     `json:"next,omitempty" doc:"before of the next page, if there is one"`
	// Partial says that fewer may be on the page than there are.
	Partial bool `json:"partial,omitempty" doc:"only about the newest 100,000 runs (25,000 by error_type) were looked at, and fewer found than asked for; go on with next"`
}

func listRuns(c *call, q listQuery, _ none) (runList, error) {
	return selectRuns(c.Context(), c.e, q)
}

// looked is how many runs that wait at gates or for slots are looked at for a page.
const looked = 1000

// selectRuns reads a page of runs. Calls that wait for another attempt are in several
// states, and what they have behind them only their waits tell: those runs are read by
// state and merged.
func selectRuns(ctx context.Context, e *perdure.Engine, q listQuery) (runList, error) {
	filter, err := q.view()
	if err != nil {
		return runList{}, err
	}
	limit := cmp.Or(q.Limit, 100)
	if limit > 1000 {
		return runList{}, badRequest("the limit is %d; at most 1000 runs are listed on a page", limit)
	}
	filter.Before, filter.Waits, filter.Limit = q.Before, q.Waits, limit+1
	var others []string
	has := wording.HasRests
	switch {
	case q.Retrying && filter.Call != "":
		return runList{}, badRequest("call and retrying are both given; leave one out")
	case q.Retrying:
		filter.Call, filter.Waits, others, has = wording.RetryingStates[0], true, wording.RetryingStates[1:], wording.HasRetries
	case filter.Call == view.CallPaused:
		filter.Waits, others = true, wording.PausedStates[1:]
	}
	first, err := ops.Search(ctx, e, filter)
	if err != nil {
		return runList{}, err
	}
	runs, floor := first.Runs, first.Searched // runs before it are for the next page: not all of them were looked at
	if len(runs) > limit {
		floor = runs[limit].RunID
	}
	for _, state := range others {
		filter.Call, filter.Limit = state, looked
		found, err := ops.Search(ctx, e, filter)
		if err != nil {
			return runList{}, err
		}
		some := found.Runs
		floor = max(floor, found.Searched)
		if len(some) == looked {
			floor = max(floor, some[looked-1].RunID)
		}
		for _, r := range some {
			if has(state, r.Wait) {
				runs = append(runs, r)
			}
		}
	}
	return merged(runs, floor, limit), nil
}

// merged is the page of runs, each once and newest first, that are not below the floor.
func merged(runs []view.Run, floor string, limit int) runList {
	slices.SortFunc(runs, func(a, b view.Run) int { return cmp.Compare(b.RunID, a.RunID) })
	runs = slices.CompactFunc(runs, func(a, b view.Run) bool { return a.RunID == b.RunID })
	runs = slices.DeleteFunc(runs, func(r view.Run) bool { return r.RunID < floor })
	l := runList{Runs: append([]view.Run{}, runs[:min(limit, len(runs))]...)}
	switch {
	case len(runs) > limit:
		l.Next = l.Runs[limit-1].RunID
	case floor != "":
		l.Next, l.Partial = floor, len(runs) < limit
	}
	return l
}
