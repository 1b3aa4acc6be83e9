package core

import (
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Fail ends the run with a failure; canceled says that it follows a cancel request. A
// failed run is retried if its policy says so. The decision is recorded, and a replay does
// not repeat it.
//
// replaced says that an interceptor replaced the code's failure, which is then not compared
// with the record.
func (r *Run) Fail(f *history.Failure, canceled, replaced bool) {
	e := history.Event{Kind: history.RunFailed, Failure: f}
	if canceled {
		e.Kind = history.RunCanceled
	} else if policy := r.retries.retryPolicy(); policy != nil && !r.onRecord() {
		e = r.retries.verdict(f, policy)
	}
	if replaced {
		e.Note = failureReplaced
	}
	r.command(e)
}

// failureReplaced is the note of a run whose failure an interceptor replaced.
const failureReplaced = "an interceptor replaced the error"

// retryPolicy returns the policy for failures of the run, or nil: the one from the start of
// its chain if set, else the one that its code declares now.
func (p *runRetry) retryPolicy() *retry.Policy {
	if p.journal.start.Retry != nil {
		return p.journal.start.Retry
	}
	return p.journal.config.Retry
}

// verdict returns the event that ends a failed run under a policy.
func (p *runRetry) verdict(f *history.Failure, policy *retry.Policy) history.Event {
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

func (p *runRetry) exhaustedRun(attempts int, reason retry.Reason, limit int, within time.Duration, last *history.Failure) *history.Failure {
	return history.Exhausted(retry.ExhaustedError{
		Name: p.journal.start.Type, Attempts: attempts, Reason: reason, Max: limit, Within: within,
	}, last)
}

// firstAttempt returns when the first run of this series of attempts could begin.
func (p *runRetry) firstAttempt() int64 {
	if p.journal.start.FirstAttempt != 0 {
		return p.journal.start.FirstAttempt
	}
	return max(p.journal.start.Created, p.journal.start.FirstTurn)
}

// neverBegins closes a run whose code has not begun and may no longer begin: it was
// canceled before its first turn, or it is a retry and the time for all attempts has
// passed. The code does not run, so the turn says CodeDeferred.
func (r *Run) neverBegins() bool {
	s := &r.journal.start
	end := history.Event{Kind: history.RunCanceled}
	switch {
	case r.journal.cancellation.requested && r.journal.cancellation.at < s.FirstTurn && !r.codeRan:
		phase := retry.PhaseBackoff
		if s.Failure == nil { // started with a delay
			phase = retry.PhaseQueue
		}
		end.Failure = history.Aborted(s.Type, max(s.Attempt-1, 1), phase, s.Failure)
	case s.Deadline != 0 && r.journal.now > s.Deadline && !r.codeRan && r.journal.program != nil:
		within := time.Duration(s.Deadline - r.retries.firstAttempt())
		end.Kind, end.Reason = history.RunFailed, string(retry.ReasonWithin)
		end.Failure = r.retries.exhaustedRun(s.Attempt-1, retry.ReasonWithin, 0, within, s.Failure)
	default:
		return false
	}
	r.journal.emit(history.Event{Kind: history.CodeDeferred})
	r.happened(end)
	return true
}

// ownFailure returns the failure with which the code closed its run. A timed-out run has
// none, because its code was not asked.
func ownFailure(e *history.Event) *history.Failure {
	switch retry.Reason(e.Reason) {
	case "", retry.ReasonTerminal, retry.ReasonCanceled:
		return e.Failure
	}
	if e.Kind == history.RunFailed && e.Failure != nil && len(e.Failure.Causes) > 0 {
		return e.Failure.Causes[0]
	}
	return e.Failure
}
