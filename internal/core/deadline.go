package core

import (
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Deadline is when the run is closed as timed out if it is open then, Never if at
// no time: with its code or without.
func (r *Run) Deadline() int64 {
	at, _, _ := deadline(&r.start)
	return at
}

// deadline is when a run that started so times out, and as what. If its own time
// and that of its chain end together, nothing may follow.
func deadline(s *history.Start) (at int64, kind retry.TimeoutKind, limit time.Duration) {
	at = RunDeadline(s)
	if s.ChainDeadline != 0 && s.ChainDeadline <= at {
		return s.ChainDeadline, retry.TimeoutChain, s.ChainTimeout
	}
	return at, retry.TimeoutRun, s.RunTimeout
}

// RunDeadline is when the time of one run ends, Never if it has no such time. It
// begins when the code may, so neither a delay nor a backoff is part of it.
func RunDeadline(s *history.Start) int64 {
	if s.RunTimeout <= 0 {
		return Never
	}
	return addTime(max(s.Created, s.FirstTurn), s.RunTimeout)
}

// CanWait reports whether a run that is started so may stand in line to begin. One that is
// to begin later, or has to end in time, stands in no line: its row tells that time.
func CanWait(s *history.Start) bool {
	return s.FirstTurn == 0 && s.RunTimeout <= 0 && s.ChainDeadline == 0 && s.Base == nil
}

// expire closes the run if its time is up. That comes before everything else that
// happens to it: what came until then and was not worked in yet is too late. A
// timeout of the run is a failure as any other for its retry policy; one of the
// chain ends it.
func (r *Run) expire() {
	at, kind, limit := deadline(&r.start)
	if r.ended || r.now < at {
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
	if end.Kind.Command() { // one in which the code has no part
		r.emit(history.Event{Kind: history.CodeDeferred})
	}
	r.happened(end)
}

// timeForRetries is the policy with the time that is left for attempts: a run that
// could only begin after the time of its chain is not begun.
func (r *runRetry) timeForRetries(p *retry.Policy) *retry.Policy {
	if r.start.ChainDeadline == 0 {
		return p
	}
	left := time.Duration(r.start.ChainDeadline - r.firstAttempt())
	if p.Within > 0 && p.Within <= left {
		return p
	}
	bounded := *p
	bounded.Within = max(left, 1)
	return &bounded
}
