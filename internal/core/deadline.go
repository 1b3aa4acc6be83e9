package core

import (
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Deadline returns when an open run is closed as timed out, with or without its code, or
// Never.
func (r *Run) Deadline() int64 {
	at, _, _ := deadline(&r.journal.start)
	return at
}

// deadline returns when a run with this start event times out, and as what. If the times of
// the run and of its chain end together, the chain's counts, so that no run follows.
func deadline(s *history.Start) (at int64, kind retry.TimeoutKind, limit time.Duration) {
	at = RunDeadline(s)
	if s.ChainDeadline != 0 && s.ChainDeadline <= at {
		return s.ChainDeadline, retry.TimeoutChain, s.ChainTimeout
	}
	return at, retry.TimeoutRun, s.RunTimeout
}

// RunDeadline returns when the time of one run ends, or Never. The time begins when the
// code may begin, so a delay or backoff is not part of it.
func RunDeadline(s *history.Start) int64 {
	if s.RunTimeout <= 0 {
		return Never
	}
	return addTime(max(s.Created, s.FirstTurn), s.RunTimeout)
}

// CanWait reports whether a run with this start event may stand in line to begin. A run
// that begins later or has a timeout may not: its row has to hold that time.
func CanWait(s *history.Start) bool {
	return s.FirstTurn == 0 && s.RunTimeout <= 0 && s.ChainDeadline == 0 && s.Base == nil
}

// expire closes the run if its time has run out. That comes before any other input of the
// moment, which is then too late. For the run's retry policy a run timeout is a failure
// like any other; a chain timeout ends the chain.
func (r *Run) expire() {
	at, kind, limit := deadline(&r.journal.start)
	if r.ended || r.journal.now < at {
		return
	}
	r.leaveCut()
	end := history.Event{Kind: history.RunTimedOut, Failure: history.FromError(&retry.TimeoutError{Kind: kind, Limit: limit})}
	if policy := r.retries.retryPolicy(); policy != nil && kind == retry.TimeoutRun {
		end = r.retries.verdict(end.Failure, policy)
	}
	if end.Kind == history.RunFailed {
		end.Kind = history.RunTimedOut
	}
	if end.Kind.Command() { // the code has no part in this command
		r.journal.emit(history.Event{Kind: history.CodeDeferred})
	}
	r.happened(end)
}

// timeForRetries returns the policy limited to the time that is left of the chain: a run
// that could only begin after that is not started.
func (p *runRetry) timeForRetries(policy *retry.Policy) *retry.Policy {
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
