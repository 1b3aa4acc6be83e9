package policylab

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// Lab tries one policy on one call after another. It keeps sums, and eight bytes for each
// call that succeeded.
type Lab struct {
	policy retry.Policy
	now    int64
	draw   func(run string, call int64, attempt int) float64

	out            view.PolicyTrial
	classes        map[[2]string]*view.TrialClass
	recorded, took []int64 // time until success, on record and in the trial
	load           load
	rates          rates
	first, last    int64
	starts         []int64 // start times of one replay, reused by the next

	lost, gaps, longer, shorter bool // the assumptions that were needed
}

// New returns a lab. It replays nothing beyond now, in nanoseconds since 1970. draw returns
// the jitter draw of an attempt, in [0, 1).
func New(policy retry.Policy, now int64, draw func(run string, call int64, attempt int) float64) *Lab {
	return &Lab{
		policy: policy, now: now, draw: draw, classes: map[[2]string]*view.TrialClass{},
		load: newLoad(), rates: newRates(),
	}
}

// Add tries the policy on a call. It does not keep the call.
func (l *Lab) Add(c *Call) {
	if c.Attempts = attempts(c.Attempts); len(c.Attempts) == 0 {
		return
	}
	l.record(c)
	trial := l.replay(c, nearest)
	l.load.add(asTrial, trial.starts)
	count(&l.out.Trial, trial.ending, trial.number)
	if trial.ending == view.EndedSucceeded {
		l.took = append(l.took, trial.ended-c.First)
	}
	l.classify(c, trial)
	if !trial.guessed {
		l.load.add(asWorst, trial.starts)
		l.bound(&l.out.Worst, trial)
		l.bound(&l.out.Best, trial)
		return
	}
	l.bound(&l.out.Best, l.replay(c, best))
	bad := l.replay(c, worst)
	l.bound(&l.out.Worst, bad)
	l.load.add(asWorst, bad.starts)
	if trial.ending == view.EndedUnknown {
		l.rates.open(trial.lastType, trial.number+1, bad.number-trial.number)
	}
}

// record counts a call as recorded.
func (l *Lab) record(c *Call) {
	l.out.Calls++
	count(&l.out.Recorded, c.ending(), c.executed())
	if c.ending() == view.EndedSucceeded {
		l.recorded = append(l.recorded, c.took())
	}
	l.starts = l.starts[:0]
	for i := range c.Attempts {
		a := &c.Attempts[i]
		if a.Started != 0 && a.Outcome != core.RefusedByGate {
			l.starts = append(l.starts, a.Started)
			l.span(a.Started)
		}
		l.span(a.Ended)
		if i > 0 {
			l.rates.see(&c.Attempts[i-1], a)
		}
	}
	l.load.add(asRecorded, l.starts)
}

func (l *Lab) span(at int64) {
	if l.first == 0 || at < l.first {
		l.first = at
	}
	l.last = max(l.last, at)
}

// replay replays a call. The start times are valid until the next replay.
func (l *Lab) replay(c *Call, m mode) *replay {
	r := &replay{lab: l, call: c, mode: m, starts: l.starts[:0]}
	r.run()
	l.starts = r.starts
	return r
}

func count(n *view.TrialNumbers, ending string, attempts int) {
	n.Attempts += attempts
	switch ending {
	case view.EndedSucceeded:
		n.Succeeded++
	case view.EndedFailed:
		n.Failed++
	case view.EndedPaused:
		n.Paused++
	case view.EndedCanceled:
		n.Canceled++
	case view.EndedUnfinished:
		n.Unfinished++
	case view.EndedUnknown:
		n.Unknown++
	}
}

func (l *Lab) bound(b *view.TrialBound, r *replay) {
	b.Attempts += r.number
	b.More = b.More || r.more
	if r.ending == view.EndedSucceeded {
		b.Succeeded++
	}
}

func (l *Lab) classify(c *Call, r *replay) {
	key := [2]string{c.ending(), r.ending}
	class := l.classes[key]
	recorded := c.executed()
	if class == nil {
		class = &view.TrialClass{Recorded: key[0], Trial: key[1]}
		l.classes[key] = class
	}
	e := &class.Example
	if class.Calls == 0 || differ(recorded, r.number) > differ(e.RecordedAttempts, e.TrialAttempts) {
		*e = view.TrialCall{
			WorkflowID: c.WorkflowID, RunID: c.RunID, Call: c.Number, Name: c.Name,
			RecordedAttempts: recorded, TrialAttempts: r.number,
		}
	}
	class.Calls++
	class.RecordedAttempts += recorded
	class.TrialAttempts += r.number
	if r.assumed {
		class.Assumed++
	}
}

func differ[N int | int64](a, b N) N { return max(a-b, b-a) }

// Report returns the result of the trial.
func (l *Lab) Report() *view.PolicyTrial {
	out := l.out
	out.Policy = l.policy.String()
	if l.first != 0 {
		out.From, out.To = instant(l.first), instant(l.last)
	}
	out.Recorded.P50, out.Recorded.P99 = quantiles(l.recorded)
	out.Trial.P50, out.Trial.P99 = quantiles(l.took)
	out.Estimate = l.rates.estimate()
	out.Classes = []view.TrialClass{}
	for _, c := range l.classes {
		out.Classes = append(out.Classes, *c)
	}
	slices.SortFunc(out.Classes, func(a, b view.TrialClass) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Recorded, b.Recorded), cmp.Compare(a.Trial, b.Trial))
	})
	out.Load = l.load.report()
	out.Assumptions = l.assumptions(&out)
	return &out
}

func instant(ns int64) *time.Time { return new(time.Unix(0, ns).UTC()) }

// quantiles returns the nearest ranks of 0.5 and 0.99. It sorts all.
func quantiles(all []int64) (p50, p99 time.Duration) {
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	rank := func(percent int) time.Duration { return time.Duration(all[(len(all)*percent+99)/100-1]) }
	return rank(50), rank(99)
}
