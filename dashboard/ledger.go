package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// Bounds of the ledger page. What exceeds them is counted and can be selected.
const (
	ledgerErrors   = 100 // kinds of errors
	ledgerAttempts = 25  // attempts per page
	ledgerSums     = 200 // activities

	ledgerTime = 6 * time.Second // for the errors; the rest of the page is read quickly
)

// ledgerFilter selects records of the ledger, as in the address.
type ledgerFilter struct{ listing.Attempts }

// ledgerPage shows the failed attempts of all runs in a time span.
type ledgerPage struct {
	Filter   ledgerFilter
	Tabs     []listTab
	Outcomes []string
	Clear    template.URL // the same without conditions; empty if there are none
	TooMuch  string       // why there are no errors; empty if there are
	NoChart  string       // why there is no chart; empty if there is
	Chart    *barChart
	Hours    *barChart // of the last day, if one activity is asked for
	Failed   int
	From     time.Time // of the earliest of them, if there are more, which were not read
	Calls    int
	Saved    int
	Errors   []ledgerError
	MoreErrs int
	Sums     []view.ActivityStats
	MoreSums int
	Attempts []view.FoundAttempt
	Pager    *pager
}

// ledgerError is an error type of an activity.
type ledgerError struct {
	*view.ErrorStats
	Spark *barChart
}

func ledger(q *request) (any, error) {
	var f ledgerFilter
	if err := q.readSpanned(&f, &f.Span, "24h"); err != nil {
		return nil, err
	}
	filter, err := f.Filter()
	if err != nil {
		return nil, notRead(err)
	}
	p := &ledgerPage{Filter: f, Tabs: spanTabs("ledger", &f.Span, spanned(&f)), Outcomes: wording.Outcomes}
	if everything := (ledgerFilter{listing.Attempts{Span: f.Span}}); f != everything {
		p.Clear = linkTo("ledger", spanned(&everything))
	}
	switch err := p.errors(q, filter); {
	case q.tooMuch(err):
		p.TooMuch = fmt.Sprintf("There are too many attempts on record to sum up their errors in %s.", human.Duration(ledgerTime))
	case err != nil:
		return nil, err
	}
	if f.Activity != "" {
		if p.Hours, err = lastDay(q, f.Workflow, f.Activity); err != nil {
			return nil, err
		}
	}
	if err := p.sums(q, &f); err != nil {
		return nil, err
	}
	return p, p.attempts(q, filter)
}

// Only returns a link to the page with other conditions.
func (f ledgerFilter) Only(pairs ...string) template.URL {
	v := spanned(&f)
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return linkTo("ledger", v)
}

// errors adds the types of errors, and when they came.
func (p *ledgerPage) errors(q *request, filter view.AttemptFilter) error {
	ctx, cancel := context.WithTimeout(q.ctx, ledgerTime)
	defer cancel()
	filter.Limit = view.MaxErrors + 1
	stats, err := ops.ErrorStats(ctx, q.engine, filter)
	if err != nil {
		return err
	}
	to := filter.Until
	if to.IsZero() {
		to = q.now
	}
	var first time.Time
	for i := range stats {
		p.Failed += stats[i].Attempts
		p.Calls += stats[i].Calls
		p.Saved += stats[i].Recovered
		if first.IsZero() || stats[i].First.Before(first) {
			first = stats[i].First
		}
	}
	if p.Failed > view.MaxErrors {
		p.Failed, p.From, filter.Since = view.MaxErrors, first, first
	}
	filter.Limit = 0 // all from there on
	from := filter.Since
	if from.IsZero() {
		from = first
	}
	if from.IsZero() || !from.Before(to) {
		from = to.Add(-time.Hour)
	}
	line := spansOf(from, to)
	all, counts, err := errorsOverTime(q, ctx, &line, filter, stats)
	switch {
	case q.tooMuch(err):
		p.NoChart = "There are too many attempts on record to count them over time."
	case err != nil:
		return err
	default:
		p.Chart = line.draw("Attempts that ended with an error, "+per(line.width), "attempts", 96, series{"Attempts", "bad", all})
	}
	shown := stats[:min(len(stats), ledgerErrors)]
	p.MoreErrs = len(stats) - len(shown)
	for i := range shown {
		s := &shown[i]
		row := ledgerError{ErrorStats: s}
		if p.Chart != nil {
			row.Spark = line.draw("Attempts", "attempts", 20, series{"Attempts", "bad", counts[errorKind{s.Name, s.ErrorType}]})
		}
		p.Errors = append(p.Errors, row)
	}
	return nil
}

// errorKind is a type of error of an activity.
type errorKind struct{ name, error string }

// errorsOverTime counts errors by span: all of them, and of each kind.
func errorsOverTime(q *request, ctx context.Context, line *timeSpans, filter view.AttemptFilter, stats []view.ErrorStats) (all []int, counts map[errorKind][]int, err error) {
	all, counts = make([]int, line.n), map[errorKind][]int{}
	for i := range stats {
		counts[errorKind{stats[i].Name, stats[i].ErrorType}] = make([]int, line.n)
	}
	for i := range line.n {
		if len(stats) == 0 {
			break
		}
		part := filter
		part.Since, part.Until = line.span(i)
		if part.Since.Before(filter.Since) {
			part.Since = filter.Since
		}
		if !filter.Until.IsZero() && part.Until.After(filter.Until) {
			part.Until = filter.Until
		}
		some, err := ops.ErrorStats(ctx, q.engine, part)
		if err != nil {
			return nil, nil, err
		}
		for k := range some {
			all[i] += some[k].Attempts
			if c := counts[errorKind{some[k].Name, some[k].ErrorType}]; c != nil {
				c[i] = some[k].Attempts
			}
		}
	}
	return all, counts, nil
}

// sums adds how calls ended.
func (p *ledgerPage) sums(q *request, f *ledgerFilter) error {
	stats, err := ops.ActivityStats(q.ctx, q.engine, f.Since.At, f.Until.At)
	if err != nil {
		return err
	}
	stats = slices.DeleteFunc(stats, func(s view.ActivityStats) bool {
		return s.Calls == 0 || f.Workflow != "" && s.Workflow != f.Workflow || f.Activity != "" && s.Name != f.Activity
	})
	// What needs attention comes first.
	slices.SortStableFunc(stats, func(a, b view.ActivityStats) int {
		return cmp.Or(cmp.Compare(b.Exhausted+b.Failed, a.Exhausted+a.Failed), cmp.Compare(b.Recovered, a.Recovered), cmp.Compare(b.Calls, a.Calls))
	})
	p.MoreSums = max(0, len(stats)-ledgerSums)
	p.Sums = stats[:len(stats)-p.MoreSums]
	return nil
}

// endsChart draws how the calls of an activity ended.
func endsChart(s *view.ActivityStats) *barChart {
	return shares([]share{
		{"at the first try", "good", int(s.FirstTry)}, {"recovered", "retry", int(s.Recovered)}, {"gave up", "bad", int(s.Exhausted)}, {"failed", "bad", int(s.Failed)},
		{"by hand", "held", int(s.ByHand)}, {"canceled", "calm", int(s.Canceled)},
	})
}

// attempts adds a page of attempts, latest first.
func (p *ledgerPage) attempts(q *request, filter view.AttemptFilter) error {
	filter.Limit, filter.After = ledgerAttempts, q.URL.Query().Get("after")
	found, next, err := ops.FindAttempts(q.ctx, q.engine, filter)
	if err != nil {
		if filter.After != "" && q.ctx.Err() == nil && q.engine.Health() == nil {
			return &badRequest{err.Error(), "Begin with the first page of the list."}
		}
		return err
	}
	p.Attempts, p.Pager = found, &pager{Of: "the attempts"}
	if filter.After != "" {
		p.Pager.First = linkTo("ledger", spanned(&p.Filter))
	}
	if next != "" {
		p.Pager.Next = p.Filter.Only("after", next)
	}
	return nil
}
