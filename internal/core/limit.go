package core

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Length returns the number of recorded events, not counting the start event.
func (r *Run) Length() int { return r.length }

// tooLong closes a run that reached MaxHistory, before its code makes the history longer.
// The failure is terminal because a retry would end the same way. The code does not run, so
// the turn says CodeDeferred.
func (r *Run) tooLong() bool {
	limit := r.journal.config.MaxHistory
	if limit <= 0 || r.length < limit || r.journal.program == nil || r.journal.paused != nil {
		return false
	}
	err := &history.LimitError{What: "events of history", Limit: limit, Hint: "give many items to child workflows, let its code continue as new in time (see workflow.GetInfo), or raise perdure.MaxHistory"}
	r.journal.emit(history.Event{Kind: history.CodeDeferred})
	r.happened(history.Event{Kind: history.RunFailed, Failure: history.FromError(retry.Terminal(err)), Reason: string(retry.ReasonTerminal)})
	return true
}

// limitPending replaces a command that begins a call with a refusal, if the run has
// MaxPending calls open. Replay takes the refusal from the record, so the limit may change
// at any time.
func (r *Run) limitPending(e *history.Event) {
	limit := r.journal.config.MaxPending
	replayed := r.onRecord()
	switch {
	case !waits(e.Kind):
		return
	case replayed && (r.next() == nil || r.next().Kind != history.CallRefused):
		return
	case !replayed && (limit <= 0 || len(r.calls.byNumber) < limit):
		return
	}
	refusal := history.Event{Kind: history.CallRefused, Call: e.Call, Name: e.Name, Note: string(e.Kind), Block: e.Block}
	if replayed && !same(r.next(), &refusal) {
		return
	}
	if !replayed {
		refusal.Failure = history.FromError(retry.Terminal(&history.LimitError{
			What: "pending calls", Limit: limit, Hint: "wait for some before it begins more, as workflow.Map does with a limit, or raise perdure.MaxPendingCalls",
		}))
	}
	*e = refusal
}

// waits reports whether a command of this kind begins a call that stays open.
func waits(k history.Kind) bool {
	switch k {
	case history.ActivityScheduled, history.StepScheduled, history.TimerStarted, history.SignalAwaited,
		history.ChildScheduled, history.DetachedScheduled:
		return true
	}
	return false
}

// Backlog returns the number of signals that the code has not read.
func (r *Run) Backlog() int { return r.signals.backlog }

// full reports whether senders must send the run no more signals, except for those that it
// waits for: it has MaxBacklog unread ones, or maxYoung came with IDs within KeepKeys. A full
// run stays full until it has read a fifth of the limit, so that its row does not change with
// each signal.
func (s *signals) full(was bool) bool {
	return reached(s.backlog, s.journal.config.MaxBacklog, was) || reached(s.seen.young(s.journal.now), maxYoung, was)
}

// reached reports whether n is at the limit or, if it was before, has not yet dropped by a
// fifth of it. A limit of 0 means no limit.
func reached(n, limit int, was bool) bool {
	return limit > 0 && (n >= limit || was && n > limit-limit/5)
}

// roomAt returns when enough IDs are old that the run is no longer full of them, or Never
// if it is not full of them.
func (s *signals) roomAt(was bool) int64 {
	if !reached(s.seen.young(s.journal.now), maxYoung, was) {
		return Never
	}
	return s.seen.order[len(s.seen.order)-1-(maxYoung-maxYoung/5)].at + int64(KeepKeys)
}
