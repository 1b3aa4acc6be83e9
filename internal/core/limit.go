package core

import (
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/retry"
)

// tooLong closes a run that reached MaxHistory, before its code makes the history longer.
// The failure is terminal because a retry would end the same way. The code does not run, so
// the turn says CodeDeferred.
func (r *Run) tooLong() bool {
	limit := r.journal.config.MaxHistory
	if limit <= 0 || r.length < limit || r.journal.program == nil || r.journal.paused != nil {
		return false
	}
	err := &history.LimitError{What: "events of history", Limit: limit, Hint: "give many items to child workflows, let its code continue as new in time (see workflow.GetInfo), or raise perdure.MaxHistory " + see.Limits}
	r.journal.append(history.Event{Kind: history.CodeDeferred})
	r.emit(history.Event{Kind: history.RunFailed, Failure: history.FromError(retry.Terminal(err)), Reason: string(retry.ReasonTerminal)})
	return true
}

// neverBegins closes a run whose code has not begun and may no longer begin: it was
// canceled before its first turn, or it is a retry and the time for all attempts has
// passed. The code does not run, so the turn says CodeDeferred.
func (r *Run) neverBegins() bool {
	s := &r.journal.start
	end := history.Event{Kind: history.RunCanceled}
	switch {
	case r.journal.cancellation.requested && (r.journal.cancellation.at < s.FirstTurn || r.admission.waits()) && !r.codeRan:
		phase := retry.PhaseBackoff
		if s.Failure == nil { // started with a delay, or it waits for others of its key
			phase = retry.PhaseQueue
		}
		end.Failure = history.Aborted(s.Type, max(s.Attempt-1, 1), phase, s.Failure)
	case s.Deadline != 0 && r.journal.now > s.Deadline && !r.codeRan && r.journal.program != nil:
		within := time.Duration(s.Deadline - r.retries().firstAttempt())
		end.Kind, end.Reason = history.RunFailed, string(retry.ReasonWithin)
		end.Failure = r.retries().exhaustedRun(s.Attempt-1, retry.ReasonWithin, 0, within, s.Failure)
	default:
		return false
	}
	r.journal.append(history.Event{Kind: history.CodeDeferred})
	r.emit(end)
	return true
}

// expire closes the run if its time has run out. That comes before any other input of the
// moment, which is then too late. For the run's retry policy a run timeout is a failure
// like any other; a chain timeout ends the chain.
func (r *Run) expire() {
	at, kind, limit := deadline(&r.journal.start)
	if r.ended || r.journal.now < at {
		return
	}
	r.applyToCut()
	end := history.Event{Kind: history.RunTimedOut, Failure: history.FromError(&retry.TimeoutError{Kind: kind, Limit: limit})}
	if policy := r.retries().retryPolicy(); policy != nil && kind == retry.TimeoutRun {
		end = r.retries().decide(end.Failure, policy)
	}
	if end.Kind == history.RunFailed {
		end.Kind = history.RunTimedOut
	}
	if end.Kind.Command() { // the code has no part in this command
		r.journal.append(history.Event{Kind: history.CodeDeferred})
	}
	r.emit(end)
}

// Deadline returns when an open run is closed as timed out, with or without its code, or
// Never.
func (r *Run) Deadline() int64 {
	at, _, _ := deadline(&r.journal.start)
	return at
}
