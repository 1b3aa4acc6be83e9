package core

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Length is how many events the run has on record, its start event apart.
func (r *Run) Length() int { return r.length }

// tooLong closes a run whose history has come to its limit before its code makes it
// longer. No retry of the run would do better. The code has no part in that, so the
// turn says that it did not run.
func (r *Run) tooLong() bool {
	limit := r.config.MaxHistory
	if limit <= 0 || r.length < limit || r.program == nil || r.paused != nil {
		return false
	}
	err := &history.LimitError{What: "events of history", Limit: limit, Hint: "give many items to child workflows, let its code continue as new in time (see workflow.GetInfo), or raise perdure.MaxHistory"}
	r.emit(history.Event{Kind: history.CodeDeferred})
	r.happened(history.Event{Kind: history.RunFailed, Failure: history.FromError(retry.Terminal(err)), Reason: string(retry.ReasonTerminal)})
	return true
}

// limitPending puts a refusal in the place of a call that the code begins, if it may
// have no more of them. That is decided once: a replay takes it from the record, so the
// limit may change at any time.
func (r *Run) limitPending(e *history.Event) {
	limit := r.config.MaxPending
	replayed := r.onRecord()
	switch {
	case !waits(e.Kind):
		return
	case replayed && (r.next() == nil || r.next().Kind != history.CallRefused):
		return
	case !replayed && (limit <= 0 || len(r.calls) < limit):
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

// Backlog is how many signals came that the code has not read.
func (r *Run) Backlog() int { return r.signals.backlog }

// full reports whether the run is to be sent no more signals. It is, once it has as many
// as it may, until it has read a fifth of them: its row shall not change with each. So it is
// while as many came with keys as it can hand on.
func (r *signals) full(was bool) bool {
	return reached(r.backlog, r.config.MaxBacklog, was) || reached(r.seen.young(r.now), maxYoung, was)
}

// reached reports whether n has come to a limit, and since it had, has not gone down by a
// fifth of it. A limit of 0 is none.
func reached(n, limit int, was bool) bool {
	return limit > 0 && (n >= limit || was && n > limit-limit/5)
}

// roomAt is when so many keys are old that a run which is full of them is so no more, Never
// if it is not full of them.
func (r *signals) roomAt(was bool) int64 {
	if !reached(r.seen.young(r.now), maxYoung, was) {
		return Never
	}
	return r.seen.order[len(r.seen.order)-1-(maxYoung-maxYoung/5)].at + int64(KeepKeys)
}
