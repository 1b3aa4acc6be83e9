package core

import (
	"time"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// judgement returns the policy's decision about a failure.
func (r *execution) judgement(c *Call, f *history.Failure, ended int64, overBudget bool) retry.Decision {
	return retry.Decide(c.Policy, retry.State{
		Attempt:    c.Failures,
		First:      time.Unix(0, c.First),
		Previous:   c.Previous,
		OverBudget: overBudget,
	}, retry.Classify(f.Err()), time.Unix(0, ended), r.Draw(c.Number, c.attempt))
}

// nextOf returns when the next attempt is due, 0 for none.
func nextOf(d retry.Decision) int64 {
	if !d.Retry {
		return 0
	}
	return d.At.UnixNano()
}

// verdictOf returns what a failed attempt says about what is behind the gates. A failure
// that no retry can change says nothing about it.
func verdictOf(d retry.Decision) gates.Outcome {
	switch {
	case d.Retry, d.Reason == retry.ReasonTimeout, d.Reason.Exhausts():
		return gates.Failure
	}
	return gates.Neutral
}
