package telemetry

import (
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bridge"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/telemetry/internal/metric"
)

// How many distinct values labels may have; further ones count as "other". Names of
// activities and workflows are the program's, and types of errors may be anybody's.
const (
	maxNames      = 200
	maxErrorTypes = 50
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
	backoff        *metric.Vector
	late, waited   *metric.Distribution

	group snapshot
}

var latencies = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}

// New returns Metrics that have counted nothing.
func New() *Metrics {
	return &Metrics{
		turns:     metric.NewVector(counter("perdure_turns_total", "Turns of runs that this process made durable.")),
		commits:   metric.NewVector(counter("perdure_commits_total", "Transactions by which turns were written, failed ones included.")),
		committed: metric.NewDistribution(histogram("perdure_commit_seconds", "How long the database took for a transaction of turns."), latencies...),
		started: metric.NewVector(counter("perdure_runs_started_total", "Runs whose code began here; those that follow others of their chain included.",
			"workflow"), maxNames),
		ended: metric.NewVector(counter("perdure_runs_ended_total", "Runs that ended here, by status.", "workflow", "status"), maxNames, 20),
		calls: metric.NewVector(counter("perdure_calls_total",
			"Calls of activities and steps that ended, by how: first_try, recovered, exhausted (gave up), failed (a terminal error), canceled, by_hand. Successes at the first try are counted up to 32 late.",
			"activity", "outcome"), maxNames, 20),
		failures: metric.NewVector(counter("perdure_attempts_failed_total", "Attempts that did not succeed, by outcome and type of error.",
			"activity", "outcome", "error_type"), maxNames, 20, maxErrorTypes),
		retries: metric.NewVector(counter("perdure_retries_total", "Failed attempts that another one follows, by type of error.",
			"activity", "error_type"), maxNames, maxErrorTypes),
		lost:    metric.NewVector(counter("perdure_attempts_lost_total", "Attempts whose process or lease ended before them, by reason.", "activity", "reason"), maxNames, 20),
		backoff: metric.NewVector(counter("perdure_backoff_seconds_total", "Time that retries were made to wait.", "activity"), maxNames),
		late:    metric.NewDistribution(histogram("perdure_lateness_seconds", "How long after its time a timer fired or a backoff ended; the latest of each turn."), latencies...),
		waited:  metric.NewDistribution(histogram("perdure_attempt_wait_seconds", "How long attempts that were ready to begin waited for gates and a slot."), latencies...),
	}
}

// Engine is the option of perdure.Open by which an engine is counted. One Metrics may
// count several engines; its Handler then tells their sums.
func (m *Metrics) Engine() perdure.Option {
	return bridge.Set(func(s *bridge.Settings) { s.Observers = append(s.Observers, observer{m}) })
}

type observer struct{ *Metrics }

// Committed implements engine.Observer.
func (o observer) Committed(_ int, took time.Duration) {
	o.commits.Add(1)
	o.committed.Observe(int64(took))
}

// Turn implements engine.Observer.
func (o observer) Turn(workflow string, t *core.Turn) {
	if t.Number > 0 {
		o.turns.Add(1)
	}
	if t.Number == 1 {
		o.started.Add(1, workflow)
	}
	if t.Ended && t.State != nil {
		o.ended.Add(1, workflow, string(t.State.Status))
	}
	for i := range t.Tallies {
		o.tally(&t.Tallies[i])
	}
	for i := range t.Attempts {
		o.attempt(t, &t.Attempts[i])
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
	case core.Completed, core.Canceled, core.Drained:
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
		if r := &t.Rows[i]; r.Call == call {
			return r.State != core.Paused && r.State != core.Quarantined
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
func (m *Metrics) counted() []metric.Family {
	return []metric.Family{
		m.turns.Family(), m.commits.Family(), m.committed.Family(), m.started.Family(), m.ended.Family(), m.calls.Family(),
		m.failures.Family(), m.retries.Family(), m.lost.Family(), m.backoff.Family(), m.late.Family(), m.waited.Family(),
	}
}
