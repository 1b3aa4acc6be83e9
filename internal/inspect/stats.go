package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// ActivityStats returns how calls ended between two times, by workflow and name. A zero
// time means no bound. Calls are counted by the hour in which they end; the hours of since
// and until count whole.
func (in *Inspector) ActivityStats(ctx context.Context, since, until time.Time) ([]view.ActivityStats, error) {
	counted, err := in.counted(ctx, store.TallyFilter{From: bound(since), Until: bound(until)})
	if err != nil {
		return nil, err
	}
	var stats []view.ActivityStats
	for _, c := range counted {
		if c.Name != "" {
			stats = append(stats, activityStats(&c))
		}
	}
	return stats, nil
}

func activityStats(c *counted) view.ActivityStats {
	s := view.ActivityStats{
		Workflow: c.Type, Name: c.Name, FirstTry: c.FirstTry, Recovered: c.Recovered, Exhausted: c.Exhausted,
		Failed: c.Failed, Canceled: c.Canceled, ByHand: c.ByHand, Attempts: c.Attempts, Retrying: time.Duration(c.Retrying),
	}
	s.Median, s.P95 = c.took.says()
	own := c.FirstTry + c.Recovered + c.Exhausted + c.Failed
	s.Calls = own + c.Canceled + c.ByHand
	if own > 0 {
		s.FirstTryRate = float64(c.FirstTry) / float64(own)
	}
	if s.Calls > 0 {
		s.AttemptsPerCall = float64(c.Attempts) / float64(s.Calls)
	}
	if others := s.Calls - c.FirstTry; others > 0 {
		s.MeanRetrying = s.Retrying / time.Duration(others)
	}
	return s
}

// HourStats returns how runs or calls ended in each hour of a span, oldest first; hours in which
// nothing was counted are among them.
func (in *Inspector) HourStats(ctx context.Context, filter view.HourFilter) ([]view.HourStats, error) {
	hour := int64(record.TallySpan)
	from, until := bound(filter.Since), bound(filter.Until)
	from -= from % hour
	switch {
	case from <= 0 || until < from:
		return nil, &history.InputError{What: "span of hours", Problem: "has no beginning, or ends before it: give both, or an earlier beginning"}
	case (until-from)/hour >= view.MaxHours:
		return nil, &history.InputError{What: "span of hours", Problem: fmt.Sprintf("has more than %d: ask for fewer at a time", view.MaxHours)}
	}
	counted, err := in.counted(ctx, store.TallyFilter{From: from, Until: until, Type: filter.Workflow, Name: filter.Activity, ByBucket: true})
	if err != nil {
		return nil, err
	}
	stats := make([]view.HourStats, (until-from+hour-1)/hour)
	took := make([]took, len(stats))
	for i := range stats {
		stats[i].Hour = at(from + int64(i)*hour)
	}
	for _, c := range counted {
		i := (c.Bucket - from) / hour
		s := &stats[i]
		if c.Name != core.BlockName || filter.Activity != "" { // the calls in a block have attempts of their own
			s.Attempts += c.Attempts
		}
		if c.Name != filter.Activity {
			continue // a call, where runs are counted
		}
		s.Started += c.Started
		s.Completed += c.FirstTry + c.Recovered
		s.Failed += c.Exhausted + c.Failed
		s.Canceled += c.Canceled + c.ByHand
		took[i] = append(took[i], c.took...)
	}
	for i := range stats {
		stats[i].Median, stats[i].P95 = took[i].says()
	}
	return stats, nil
}

// counted is what was counted under a key, whatever the time that it took.
type counted struct {
	store.Tally
	took took
}

// counted returns what the group has counted, by bucket, workflow and name.
func (in *Inspector) counted(ctx context.Context, filter store.TallyFilter) (all []counted, err error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
	filter.Partitions = in.group.All()
	filter.From -= filter.From % int64(record.TallySpan)
	tallies, err := in.db.Tallies(ctx, filter)
	for i := range tallies {
		t := &tallies[i]
		class := classed{within: time.Duration(t.Took), n: t.FirstTry + t.Recovered + t.Exhausted + t.Failed}
		t.Took = 0
		if len(all) == 0 || all[len(all)-1].TallyKey != t.TallyKey { // they are in order
			all = append(all, counted{Tally: store.Tally{TallyKey: t.TallyKey}})
		}
		last := &all[len(all)-1]
		last.Add(t)
		if class.n > 0 && class.within > 0 {
			last.took = append(last.took, class)
		}
	}
	return all, err
}

// ErrorStats groups the attempts in the ledger that ended with an error by activity and
// error type, most frequent first: as many of the latest as the filter's limit says, 0: all. It
// ignores MoreThan and After. For a call with very many attempts it counts those that the
// ledger keeps: the first 100 and the last 1,000.
func (in *Inspector) ErrorStats(ctx context.Context, filter view.AttemptFilter) ([]view.ErrorStats, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
	filter.MoreThan, filter.After = 0, ""
	f, err := ledgerFilter(&filter)
	if err != nil {
		return nil, err
	}
	f.Partitions, f.Limit = in.group.All(), filter.Limit
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
