package api

import (
	"time"

	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

func ledgerEndpoints() []endpoint {
	return []endpoint{
		define("GET /api/ledger/attempts", "findAttempts", "Find attempts in the ledgers of all runs, those that ended last first.", "attempts", findAttempts),
		define("GET /api/ledger/calls", "findCalls", "Find calls in the ledgers of all runs, with sums over their attempts.", "calls", findCalls),
		define("GET /api/ledger/errors", "errorStats", "Count the errors with which attempts ended, by activity and type.", "stats errors", errorStats),
		define("GET /api/ledger/activities", "activityStats", "Count how the calls of each activity ended.", "stats activities", activityStats),
		define("GET /api/ledger/hours", "hourStats", "Count what began and ended in each hour, of a day if nothing else is said.", "stats hours", hourStats),
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
	filter, err := q.view()
	if err != nil {
		return l, err
	}
	found, next, err := ops.FindAttempts(c.Context(), c.e, filter)
	return foundAttempts{append([]view.FoundAttempt{}, found...), next}, err
}

type foundCalls struct {
	Calls []view.CallAttempts `json:"calls" doc:"those whose latest attempt ended last first"`
	Next  string              `json:"next,omitempty" doc:"after of the next page, if there is one"`
}

func findCalls(c *call, q ledgerPage, _ none) (l foundCalls, err error) {
	filter, err := q.view()
	if err != nil {
		return l, err
	}
	found, next, err := ops.FindCalls(c.Context(), c.e, filter)
	return foundCalls{append([]view.CallAttempts{}, found...), next}, err
}

type errorList struct {
	Errors []view.ErrorStats `json:"errors" doc:"the most frequent first"`
}

func errorStats(c *call, q listing.Attempts, _ none) (errorList, error) {
	filter, err := q.Filter()
	if err != nil {
		return errorList{}, err
	}
	stats, err := ops.ErrorStats(c.Context(), c.e, filter)
	return errorList{append([]view.ErrorStats{}, stats...)}, err
}

type hourList struct {
	Hours []view.HourStats `json:"hours" doc:"oldest first, also those in which nothing happened"`
}

func hourStats(c *call, q listing.Hours, _ none) (hourList, error) {
	filter, err := q.Filter(time.Now())
	if err != nil {
		return hourList{}, err
	}
	stats, err := ops.HourStats(c.Context(), c.e, filter)
	return hourList{stats}, err
}

type activityList struct {
	Activities []view.ActivityStats `json:"activities" doc:"by workflow and name"`
}

func activityStats(c *call, q listing.Span, _ none) (activityList, error) {
	stats, err := ops.ActivityStats(c.Context(), c.e, q.Since.At, q.Until.At)
	return activityList{append([]view.ActivityStats{}, stats...)}, err
}
