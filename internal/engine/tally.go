package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// ActivityStats says how the calls of one activity or step of one workflow ended.
//
// The numbers are exact for calls of closed runs. Of an open run everything is
// counted but the successes at the first try (fewer than 32) since it last had a
// call that ended in any other way.
type ActivityStats struct {
	Workflow string `json:"workflow"` // name
	Name     string `json:"name"`     // of the activity or step

	Calls     int64 `json:"calls"`     // that have ended
	FirstTry  int64 `json:"first_try"` // succeeded at the first attempt
	Recovered int64 `json:"recovered"` // succeeded later
	Exhausted int64 `json:"exhausted"` // used up their attempts, time or budget
	Failed    int64 `json:"failed"`    // stopped for another reason
	Canceled  int64 `json:"canceled"`  // nobody wanted them any more
	ByHand    int64 `json:"by_hand"`   // a person said how they end
	Attempts  int64 `json:"attempts"`  // of all of them

	// Retrying is the time from the end of the first attempt to the end of the
	// call, added up over the calls that had more than one attempt.
	Retrying time.Duration `json:"retrying_ns"`

	// FirstTryRate is the share of calls that succeeded at the first attempt,
	// among those that ended by themselves: neither canceled nor by hand. 0 if
	// there are none.
	FirstTryRate float64 `json:"first_try_rate"`
	// AttemptsPerCall is the mean number of attempts, 0 without calls.
	AttemptsPerCall float64 `json:"attempts_per_call"`
	// MeanRetrying is Retrying, spread over all calls that did not succeed at the
	// first attempt; 0 if there are none.
	MeanRetrying time.Duration `json:"mean_retrying_ns"`
}

// ActivityStats returns how calls ended that were counted from since until until
// (zero: no bound), by workflow and name. Calls are counted by the hour: since and
// until are taken as the hours in which they lie, and these count whole.
func (e *Engine) ActivityStats(ctx context.Context, since, until time.Time) ([]ActivityStats, error) {
	from := bound(since)
	tallies, err := e.db.Tallies(ctx, store.TallyFilter{Partitions: e.group.All(), From: from - from%int64(record.TallySpan), Until: bound(until)})
	if err != nil {
		return nil, err
	}
	stats := make([]ActivityStats, len(tallies))
	for i := range tallies {
		stats[i] = activityStats(&tallies[i])
	}
	return stats, nil
}

func activityStats(t *store.Tally) ActivityStats {
	s := ActivityStats{
		Workflow: t.Type, Name: t.Name, FirstTry: t.FirstTry, Recovered: t.Recovered, Exhausted: t.Exhausted,
		Failed: t.Failed, Canceled: t.Canceled, ByHand: t.ByHand, Attempts: t.Attempts, Retrying: time.Duration(t.Retrying),
	}
	own := t.FirstTry + t.Recovered + t.Exhausted + t.Failed
	s.Calls = own + t.Canceled + t.ByHand
	if own > 0 {
		s.FirstTryRate = float64(t.FirstTry) / float64(own)
	}
	if s.Calls > 0 {
		s.AttemptsPerCall = float64(t.Attempts) / float64(s.Calls)
	}
	if others := s.Calls - t.FirstTry; others > 0 {
		s.MeanRetrying = s.Retrying / time.Duration(others)
	}
	return s
}

// ErrorStats says how often attempts of an activity or step ended with a type of
// error.
type ErrorStats struct {
	Name      string `json:"name"` // of the activity or step
	ErrorType string `json:"error_type"`
	Attempts  int    `json:"attempts"`  // that ended with it
	Calls     int    `json:"calls"`     // to which these belong
	Recovered int    `json:"recovered"` // calls among them that succeeded in the end

	// RecoveredShare is Recovered / Calls.
	RecoveredShare float64   `json:"recovered_share"`
	First          time.Time `json:"first"` // when the earliest of the attempts ended
	Last           time.Time `json:"last"`  // when the latest did

	Example FoundAttempt `json:"example"` // the latest one
}

// ErrorStats groups the attempts of the ledger that ended with an error by type of
// error and activity, the most frequent first. MoreThan, After and Limit of the
// filter mean nothing here. The ledger keeps the first 100 and the last 1,000
// attempts of a call: of a call with more, that many count.
func (e *Engine) ErrorStats(ctx context.Context, filter AttemptFilter) ([]ErrorStats, error) {
	filter.MoreThan, filter.After, filter.Limit = 0, "", 0
	f, err := filter.forStore()
	if err != nil {
		return nil, err
	}
	f.Partitions = e.group.All()
	groups, err := e.db.Errors(ctx, f)
	if err != nil {
		return nil, err
	}
	stats := make([]ErrorStats, len(groups))
	for i := range groups {
		g := &groups[i]
		example, err := foundAttempt(&g.Example)
		if err != nil {
			return nil, err
		}
		stats[i] = ErrorStats{
			Name: g.Name, ErrorType: g.ErrorType, Attempts: g.Attempts, Calls: g.Calls, Recovered: g.Recovered,
			RecoveredShare: float64(g.Recovered) / float64(g.Calls),
			First:          time.Unix(0, g.First).UTC(), Last: time.Unix(0, g.Last).UTC(), Example: example,
		}
	}
	slices.SortStableFunc(stats, func(a, b ErrorStats) int { return cmp.Compare(b.Attempts, a.Attempts) })
	return stats, nil
}
