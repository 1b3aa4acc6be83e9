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
		found("GET /api/ledger/attempts", "findAttempts", "Find attempts in the ledgers of all runs, those that ended last first.", "attempts",
			"attempts", "those that ended last first", ops.FindAttempts),
		found("GET /api/ledger/calls", "findCalls", "Find calls in the ledgers of all runs, with sums over their attempts.", "calls",
			"calls", "those whose latest attempt ended last first", ops.FindCalls),
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

// found returns the endpoint of a search in the ledgers of all runs.
func found[T any](line, name, summary, does, field, order string, find func(context.Context, *perdure.Engine, view.AttemptFilter) ([]T, string, error)) endpoint {
	return answering(line, name, summary, does, field, order, true, func(c *call, q ledgerPage) ([]T, string, error) {
		filter, err := q.view()
		if err != nil {
			return nil, "", err
		}
		return find(c.Context(), c.e, filter)
	})
}
