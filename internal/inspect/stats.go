package inspect

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// ActivityStats returns how calls ended that were counted from since until until
// (zero: no bound), by workflow and name. Calls are counted by the hour: since and
// until are taken as the hours in which they lie, and these count whole.
func (in *Inspector) ActivityStats(ctx context.Context, since, until time.Time) ([]view.ActivityStats, error) {
	from := bound(since)
	tallies, err := in.db.Tallies(ctx, store.TallyFilter{Partitions: in.group.All(), From: from - from%int64(record.TallySpan), Until: bound(until)})
	if err != nil {
		return nil, err
	}
	stats := make([]view.ActivityStats, len(tallies))
	for i := range tallies {
		stats[i] = activityStats(&tallies[i])
	}
	return stats, nil
}

func activityStats(t *store.Tally) view.ActivityStats {
	s := view.ActivityStats{
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

// ErrorStats groups the attempts of the ledger that ended with an error by type of
// error and activity, the most frequent first. MoreThan, After and Limit of the
// filter mean nothing here. The ledger keeps the first 100 and the last 1,000
// attempts of a call: of a call with more, that many count.
func (in *Inspector) ErrorStats(ctx context.Context, filter view.AttemptFilter) ([]view.ErrorStats, error) {
	filter.MoreThan, filter.After, filter.Limit = 0, "", 0
	f, err := ledgerFilter(&filter)
	if err != nil {
		return nil, err
	}
	f.Partitions = in.group.All()
	groups, err := in.db.Errors(ctx, f)
	if err != nil {
		return nil, err
	}
	stats := make([]view.ErrorStats, len(groups))
	for i := range groups {
		g := &groups[i]
		example, err := foundAttempt(&g.Example)
		if err != nil {
			return nil, err
		}
		stats[i] = view.ErrorStats{
			Name: g.Name, ErrorType: g.ErrorType, Attempts: g.Attempts, Calls: g.Calls, Recovered: g.Recovered,
			RecoveredShare: float64(g.Recovered) / float64(g.Calls),
			First:          at(g.First), Last: at(g.Last), Example: example,
		}
	}
	slices.SortStableFunc(stats, func(a, b view.ErrorStats) int { return cmp.Compare(b.Attempts, a.Attempts) })
	return stats, nil
}
