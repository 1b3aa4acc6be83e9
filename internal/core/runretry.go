package core

import (
	"cmp"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// failureReplaced is the note of a run whose failure an interceptor replaced.
const failureReplaced = "an interceptor replaced the error"

// retryPolicy returns the policy for failures of the run, or nil: the one from the start of
// its chain if set, else the one that its code declares now.
func (p runRetry) retryPolicy() *retry.Policy {
	return cmp.Or(p.journal.start.Retry, p.journal.config.Retry)
}

// decide returns the event that ends a failed run under a policy.
func (p runRetry) decide(f *history.Failure, policy *retry.Policy) history.Event {
	first := p.firstAttempt()
	attempt := max(p.journal.start.Attempt, 1)
	bounded := p.timeForRetries(policy)
	d := retry.Decide(bounded, retry.State{
		Attempt: attempt, First: time.Unix(0, first), Previous: p.journal.start.Backoff, Canceled: p.journal.cancellation.requested,
	}, retry.Classify(f.Err()), time.Unix(0, p.journal.now), p.journal.jitter(0, attempt))
	switch {
	case d.Retry:
		e := history.Event{
			Kind: history.RunContinued, Initiator: history.RetryOfRun, Failure: f, Reason: string(d.Reason),
			ID: NextRunID(p.journal.start.Run, p.journal.now), Attempt: attempt + 1,
		}
		if d.Delay > 0 {
			e.Due = nextOf(d)
		}
		if policy.Within > 0 && policy.Within != retry.Forever {
			e.Deadline = addTime(first, policy.Within)
		}
		return e
	case d.Reason != retry.ReasonTerminal && d.Reason != retry.ReasonCanceled:
		f = p.exhaustedRun(attempt, d.Reason, d.Max, bounded.Within, f)
	}
	return history.Event{Kind: history.RunFailed, Failure: f, Reason: string(d.Reason)}
}

func (p runRetry) exhaustedRun(attempts int, reason retry.Reason, limit int, within time.Duration, last *history.Failure) *history.Failure {
	return history.Exhausted(retry.ExhaustedError{
		Name: p.journal.start.Type, Attempts: attempts, Reason: reason, Max: limit, Within: within,
	}, last)
}

// firstAttempt returns when the first run of this series of attempts could begin.
func (p runRetry) firstAttempt() int64 {
	return cmp.Or(p.journal.start.FirstAttempt, max(p.journal.start.Created, p.journal.start.FirstTurn))
}

// timeForRetries returns the policy limited to the time that is left of the chain: a run
// that could only begin after that is not started.
func (p runRetry) timeForRetries(policy *retry.Policy) *retry.Policy {
	if p.journal.start.ChainDeadline == 0 {
		return policy
	}
	left := time.Duration(p.journal.start.ChainDeadline - p.firstAttempt())
	if policy.Within > 0 && policy.Within <= left {
		return policy
	}
	bounded := *policy
	bounded.Within = max(left, 1)
	return &bounded
}
