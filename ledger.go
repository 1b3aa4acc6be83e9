package perdure

import (
	"context"
	"fmt"
	"time"
)

// The attempt ledger has a record of every attempt of every call of which one
// failed, timed out, was lost or given back. What follows reads it over all runs
// of the engine's group; what it costs does not depend on how many runs there are
// that had no trouble.

// Calls sums up the attempts of each activity and step of the latest run of a
// workflow ID, by number: how many there were and how they ended, how long they
// ran, backed off and took in all. Calls of which no attempt has ended yet are left
// out.
func (e *Engine) Calls(ctx context.Context, id string, options ...ReadOption) ([]CallAttempts, error) {
	calls, err := e.inner.Calls(ctx, id, runOf(options))
	if err != nil {
		return nil, fmt.Errorf("perdure: calls of %q: %w", id, err)
	}
	return calls, nil
}

// FindAttempts returns attempts from the ledger, those that ended latest first, at
// most AttemptFilter.Limit. If there are more, next is the cursor that
// AttemptFilter.After takes for the following page; else it is empty. Paging
// neither repeats nor leaves out an attempt, whatever happens meanwhile.
//
// A success at the first try has no record there: see Attempts and ActivityStats.
func (e *Engine) FindAttempts(ctx context.Context, filter AttemptFilter) (attempts []FoundAttempt, next string, err error) {
	attempts, next, err = e.inner.FindAttempts(ctx, filter)
	if err != nil {
		return nil, "", fmt.Errorf("perdure: find attempts: %w", err)
	}
	return attempts, next, nil
}

// FindCalls returns the calls in the ledger, each with sums over its attempts,
// those whose latest attempt ended latest first. AttemptFilter.MoreThan selects
// those that needed more attempts than that; the other conditions are about the
// latest attempt of the call. It pages like FindAttempts.
func (e *Engine) FindCalls(ctx context.Context, filter AttemptFilter) (calls []CallAttempts, next string, err error) {
	calls, next, err = e.inner.FindCalls(ctx, filter)
	if err != nil {
		return nil, "", fmt.Errorf("perdure: find calls: %w", err)
	}
	return calls, next, nil
}

// ActivityStats returns how the calls of each activity and step ended, by workflow
// and name, as counted between two times; a zero time is no bound. Calls are
// counted by the hour in which they end: the hours in which since and until lie
// count whole.
//
// Successes at the first try are included, although they have no record in the
// ledger. The numbers are exact for closed runs and survive any crash; of an open
// run up to 31 recent successes at the first try may not be counted yet.
func (e *Engine) ActivityStats(ctx context.Context, since, until time.Time) ([]ActivityStats, error) {
	stats, err := e.inner.ActivityStats(ctx, since, until)
	if err != nil {
		return nil, fmt.Errorf("perdure: activity stats: %w", err)
	}
	return stats, nil
}

// ErrorStats groups the attempts in the ledger that ended with an error, by
// activity and type of error, the most frequent first. MoreThan, After and Limit of
// the filter have no meaning here.
func (e *Engine) ErrorStats(ctx context.Context, filter AttemptFilter) ([]ErrorStats, error) {
	stats, err := e.inner.ErrorStats(ctx, filter)
	if err != nil {
		return nil, fmt.Errorf("perdure: error stats: %w", err)
	}
	return stats, nil
}
