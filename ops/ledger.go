package ops

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// FindAttempts returns attempts from the ledgers of all runs, those that ended latest
// first, at most AttemptFilter.Limit. If there are more, next is the cursor for
// AttemptFilter.After of the following page; otherwise it is empty. Pages neither repeat
// nor omit an attempt, whatever happens meanwhile.
//
// A success at the first try has no record there: see perdure.Handle.Attempts and
// ActivityStats.
func FindAttempts(ctx context.Context, e *perdure.Engine, filter view.AttemptFilter) (attempts []view.FoundAttempt, next string, err error) {
	attempts, next, err = inside(e).FindAttempts(ctx, filter)
	return attempts, next, failed(err, "find attempts")
}

// FindCalls returns the calls in the ledgers of all runs, each with sums over its
// attempts, those whose latest attempt ended latest first. AttemptFilter.MoreThan selects
// calls that needed more attempts than that; the other conditions are about the latest
// attempt of the call. It pages like FindAttempts.
func FindCalls(ctx context.Context, e *perdure.Engine, filter view.AttemptFilter) (calls []view.CallAttempts, next string, err error) {
	calls, next, err = inside(e).FindCalls(ctx, filter)
	return calls, next, failed(err, "find calls")
}

// ActivityStats returns how the calls of each activity and step ended between two times,
// by workflow and name; a zero time means no bound. Calls are counted by the hour in which
// they end: the hours of since and until count as a whole.
//
// Successes at the first try are included, although they have no record in the ledger. The
// numbers are exact for closed runs and survive any crash; of an open run up to 31 recent
// successes at the first try may not be counted yet.
func ActivityStats(ctx context.Context, e *perdure.Engine, since, until time.Time) ([]view.ActivityStats, error) {
	stats, err := inside(e).ActivityStats(ctx, since, until)
	return stats, failed(err, "activity stats")
}

// ErrorStats groups the attempts in the ledgers that ended with an error, by activity and
// type of error, the most frequent first. It considers as many of the latest as Limit of the
// filter says, and those that ended at the same moment as the last of them; 0: all. It ignores
// MoreThan and After.
func ErrorStats(ctx context.Context, e *perdure.Engine, filter view.AttemptFilter) ([]view.ErrorStats, error) {
	stats, err := inside(e).ErrorStats(ctx, filter)
	return stats, failed(err, "error stats")
}
