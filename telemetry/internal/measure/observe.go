package measure

import (
	"cmp"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/settings"
	"github.com/perdure/perdure/telemetry/internal/metric"
)

// Metrics counts what an engine does. It is safe for concurrent use.
type Metrics struct {
	turns, commits *metric.Vector
	committed      *metric.Distribution
	started, ended *metric.Vector
	calls          *metric.Vector
	failures       *metric.Vector
	retries        *metric.Vector
	lost           *metric.Vector
	questions      *metric.Vector
	backoff        *metric.Vector
	run, worked    *metric.Distribution
	late, waited   *metric.Distribution
}

// Engine is the option of perdure.Open by which an engine is counted.
func (m *Metrics) Engine() perdure.Option {
	return seal.With(func(s *settings.Engine) {
		s.Observers = append(s.Observers, observer{m})
		s.Closings = func(*history.Start) bool { return true }
	})
}

type observer struct{ *Metrics }

// Committed implements settings.Observer.
func (o observer) Committed(_ int, took time.Duration) {
	o.commits.Add(1)
	o.committed.Observe(int64(took))
}

// Turn implements settings.Observer.
func (o observer) Turn(start *history.Start, t *core.Turn) {
	if t.Number > 0 {
		o.turns.Add(1)
	}
	if t.Number == 1 {
		o.started.Add(1, start.Type)
	}
	if t.Ended && t.State != nil {
		o.ended.Add(1, start.Type, string(t.State.Status))
		o.run.Observe(cmp.Or(t.State.Closed, t.Time)-start.Created, start.Type)
	}
	for i := range t.Tallies {
		o.tally(&t.Tallies[i])
	}
	for i := range t.Attempts {
		o.attempt(t, &t.Attempts[i])
	}
	for i := range t.Closings {
		if c := &t.Closings[i]; c.Started > 0 {
			o.worked.Observe(c.Ended-c.Started, c.Name)
		}
	}
	for i := range t.Dispatch {
		o.waited.Observe(t.Dispatch[i].Started - t.Dispatch[i].Queued)
	}
	if t.Fired > 0 {
		o.late.Observe(t.Late)
	}
}

func (o observer) tally(t *core.Tally) {
	for _, c := range []struct {
		outcome string
		n       int
	}{
		{"first_try", t.FirstTry}, {"recovered", t.Recovered}, {"exhausted", t.Exhausted},
		{"failed", t.Failed}, {"canceled", t.Canceled}, {"by_hand", t.ByHand},
	} {
		if c.n > 0 {
			o.calls.Add(float64(c.n), t.Name, c.outcome)
		}
	}
}

// attempt counts an attempt that ended.
func (o observer) attempt(t *core.Turn, a *core.Record) {
	switch a.Outcome {
	case core.Completed, core.Canceled, core.Failed, core.TimedOut:
		if a.Started > 0 {
			o.worked.Observe(a.Ended-a.Started, a.Name)
		}
	}
	switch a.Outcome {
	case core.Completed, core.Canceled, core.Drained:
		return
	case core.Found, core.Absent, core.Unknown:
		o.questions.Add(1, a.Name, string(a.Outcome))
		return
	case core.Lost:
		o.lost.Add(1, a.Name, a.Reason)
	default:
		o.failures.Add(1, a.Name, string(a.Outcome), a.ErrorType)
	}
	if !goesOn(t, a.Call) {
		return
	}
	if a.Outcome != core.Lost {
		o.retries.Add(1, a.Name, a.ErrorType)
	}
	var d core.AttemptDetail
	if history.Unseal(a.Data, &d) == nil && d.Delay > 0 {
		o.backoff.Add(d.Delay.Seconds(), a.Name)
	}
}

// goesOn reports whether another attempt of a call follows by itself.
func goesOn(t *core.Turn, call int64) bool {
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Has(call) {
			return r.State != core.Paused && r.State != core.Quarantined && r.State != core.InDoubt
		}
	}
	for i := range t.Dispatch {
		if t.Dispatch[i].Call == call {
			return true
		}
	}
	return false
}

// counted are the metrics that are counted in memory.
func (m *Metrics) counted() []counted {
	return []counted{
		m.turns, m.commits, m.committed, m.started, m.ended, m.calls, m.failures, m.retries, m.lost, m.questions, m.backoff, m.run, m.worked, m.late, m.waited,
	}
}

// counted is a Vector or a Distribution.
type counted interface {
	Family() metric.Family
	Series() int
}

// Distributions are the metrics that are no numbers but many.
func (m *Metrics) Distributions() []*metric.Distribution {
	return []*metric.Distribution{m.committed, m.run, m.worked, m.late, m.waited}
}
