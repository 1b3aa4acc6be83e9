package api

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

func ledgerEndpoints() []endpoint {
	return []endpoint{
		define("GET /api/ledger/attempts", "findAttempts", "Find attempts in the ledgers of all runs, those that ended last first.", "attempts", findAttempts),
		define("GET /api/ledger/calls", "findCalls", "Find calls in the ledgers of all runs, with sums over their attempts.", "calls", findCalls),
		list(&listing.ErrorStats, func(all []view.ErrorStats) errorList { return errorList{all} }),
		list(&listing.ActivityStats, func(all []view.ActivityStats) activityList { return activityList{all} }),
		list(&listing.HourStats, func(all []view.HourStats) hourList { return hourList{all} }),
	}
}

// ledgerPage is a page of attempts or calls.
type ledgerPage struct {
	listing.Attempts
	MoreThan int    `query:"more_than" doc:"only attempts with a higher number, and calls with more attempts"`
	After    string `query:"after" doc:"next of the page before"`
	Limit    int    `query:"limit" doc:"maximum number, up to 1000; default 100"`
}

func (q ledgerPage) view() (view.AttemptFilter, error) {
	f, err := q.Attempts.Filter()
	f.MoreThan, f.After, f.Limit = q.MoreThan, q.After, q.Limit
	if q.Limit > 1000 {
		return f, badRequest("the limit is %d; at most 1000 are listed on a page", q.Limit)
	}
	return f, err
}

type foundAttempts struct {
	Attempts []view.FoundAttempt `json:"attempts" doc:"those that ended last first"`
	Next     string              `json:"next,omitempty" doc:"after of the next page, if there is one"`
}

func findAttempts(c *call, q ledgerPage, _ none) (l foundAttempts, err error) {
	l.Attempts, l.Next, err = found(c, q, ops.FindAttempts)
	return l, err
}

// found reads a page of the ledger.
func found[T any](c *call, q ledgerPage, find func(context.Context, *perdure.Engine, view.AttemptFilter) ([]T, string, error)) ([]T, string, error) {
	filter, err := q.view()
	if err != nil {
		return nil, "", err
	}
	page, next, err := find(c.Context(), c.e, filter)
	return append([]T{}, page...), next, err
}

type foundCalls struct {
	Calls []view.CallAttempts `json:"calls" doc:"those whose latest attempt ended last first"`
	Next  string              `json:"next,omitempty" doc:"after of the next page, if there is one"`
}

func findCalls(c *call, q ledgerPage, _ none) (l foundCalls, err error) {
	l.Calls, l.Next, err = found(c, q, ops.FindCalls)
	return l, err
}

type errorList struct {
	Errors []view.ErrorStats `json:"errors" doc:"the most frequent first"`
}

type hourList struct {
	Hours []view.HourStats `json:"hours" doc:"oldest first, also those in which nothing happened"`
}

type activityList struct {
	Activities []view.ActivityStats `json:"activities" doc:"by workflow and name"`
}
