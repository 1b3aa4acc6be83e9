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

// ActivityStats returns how calls ended between two times, by workflow and name. A zero
// time means no bound. Calls are counted by the hour in which they end; the hours of since
// and until count whole.
func (in *Inspector) ActivityStats(ctx context.Context, since, until time.Time) ([]view.ActivityStats, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
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

// ErrorStats groups the attempts in the ledger that ended with an error by activity and
// error type, most frequent first. It ignores MoreThan, After and Limit of the filter. For
// a call with very many attempts it counts those that the ledger keeps: the first 100 and
// the last 1,000.
func (in *Inspector) ErrorStats(ctx context.Context, filter view.AttemptFilter) ([]view.ErrorStats, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
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
	stats, names := make([]view.ErrorStats, len(groups)), shownNames{in: in}
	for i := range groups {
		g := &groups[i]
		example, err := names.attempt(ctx, &g.Example)
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
