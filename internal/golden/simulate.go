package golden

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/retry"
)

// Simulate plays the case with Decide and arithmetic alone: no runner, no
// clock, no timers. It says what every runner must do.
func (c *Case) Simulate() Trace {
	var t Trace
	if c.CancelAt == 0 {
		t.End = fmt.Sprintf("aborted %s 1", retry.PhaseExecution)
		return t
	}
	first := time.Unix(1_000_000_000, 0).UTC()
	start, previous := first, time.Duration(0)

	n := 0 // failures charged, the present one included
	for i := range c.Attempts {
		a := c.Attempts[i]
		n++
		t.Starts = append(t.Starts, start.Sub(first))
		end, err := c.outcome(a, first, start)
		if err == nil {
			t.End = "ok"
			return t
		}
		state := retry.State{
			Attempt: n, First: first, Previous: previous, Canceled: c.canceledBy(end.Sub(first)), OverBudget: a.Denied, Probe: a.Probe,
		}
		if a.Probe {
			state.Attempt--
		}
		d := retry.Decide(&c.Policy, state, retry.Classify(err), end, a.U)
		t.Judgments = append(t.Judgments, Judgment{Action: actionOf(d), Delay: d.Delay, Reason: d.Reason, Rule: d.Rule})
		if !d.Retry {
			t.End = endOf(d, n, i+1)
			return t
		}
		if c.canceledBy(d.At.Sub(first)) {
			t.End = fmt.Sprintf("aborted %s %d", retry.PhaseBackoff, i+1)
			return t
		}
		if a.Probe {
			n--
		}
		start, previous = d.At, d.Delay
	}
	t.End = "unexpected: the table has too few attempts"
	return t
}

// canceledBy reports whether the call is canceled at that offset.
func (c *Case) canceledBy(at time.Duration) bool { return c.CancelAt >= 0 && c.CancelAt <= at }

// outcome returns when an attempt ends and with what error: what its timeouts
// or a cancellation leave of it.
func (c *Case) outcome(a Attempt, first, start time.Time) (time.Time, error) {
	runs, err := a.Took, a.Err(first)
	if limit := c.Policy.AttemptTimeout; limit > 0 && runs >= limit {
		runs, err = limit, &retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: limit}
	}
	if limit := c.Policy.HeartbeatTimeout; limit > 0 {
		if at := a.silentAt(limit); at < runs {
			runs, err = at, &retry.TimeoutError{Kind: retry.TimeoutHeartbeat, Limit: limit}
		}
	}
	end := start.Add(runs)
	if c.canceledBy(end.Sub(first)) {
		// Whatever it was about to return, a canceled call is aborted.
		return first.Add(c.CancelAt), fmt.Errorf("canceled: %w", &TypedError{Name: retry.TypeCanceled})
	}
	return end, err
}

// silentAt returns when the attempt, counted from its start, has been silent
// for the limit; it may have ended before.
func (a Attempt) silentAt(limit time.Duration) time.Duration {
	last := time.Duration(0)
	for _, beat := range a.Beats {
		if beat-last >= limit {
			break
		}
		last = beat
	}
	return last + limit
}

// endOf says how a call ends after this decision on its last attempt, the n-th that is charged.
func endOf(d retry.Decision, n, last int) string {
	switch {
	case d.Pause:
		return fmt.Sprintf("paused %s %d", d.Reason, n)
	case d.Reason == retry.ReasonCanceled:
		return fmt.Sprintf("aborted %s %d", retry.PhaseExecution, last)
	case d.Reason == retry.ReasonTerminal:
		return "terminal"
	}
	return fmt.Sprintf("exhausted %s %d", d.Reason, n)
}
