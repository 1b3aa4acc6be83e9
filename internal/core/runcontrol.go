package core

import (
	"cmp"
	"fmt"

	"github.com/perdure/perdure/internal/history"
)

// control carries out an operation on the run and records the outcome. An operation that
// an earlier run of the chain carried out is only answered.
func (q requests) control(in Control) {
	outcome, note := q.answer(in)
	paused := q.journal.paused != nil
	q.recordOutcome(in, outcome, note)
	if outcome != Applied {
		return
	}
	switch in.Operation {
	case CancelTheRun:
		q.facts.emit(history.Event{Kind: history.RunCancelRequested, Reason: in.Reason, By: in.By, Operation: in.named()})
	case TerminateTheRun:
		q.facts.emit(history.Event{Kind: history.RunTerminated, Reason: in.Reason, By: in.By, Operation: in.named()})
	case SignalTheRun:
		q.facts.emit(history.Event{
			Kind: history.SignalReceived, Name: in.Signal, ID: in.signalID(), Input: in.Value, By: in.By, Operation: in.named(),
		})
	case PauseTheRun:
		// No attempt starts while the run is paused. What happens meanwhile is recorded, and the code
		// sees it when the run is resumed. An attempt in flight may end.
		for _, c := range q.calls.sorted() {
			if c.attempted() && c.Pause == nil && c.state != Quarantined && c.state != InDoubt {
				q.operations.halt(c, &Pause{By: in.By, Reason: in.Reason, At: q.journal.now, OfRun: true})
			}
		}
	case ResumeTheRun:
		for _, c := range q.calls.sorted() {
			if paused && c.Pause != nil && c.Pause.OfRun {
				q.operations.unpause(c)
			}
		}
		if d, is := q.row.parkedForCrash(); is && !paused {
			q.row.releaseCode(d)
		}
	case ResetTheRun:
		q.reset(in)
	}
}

// answer returns the outcome of an operation on the run, without carrying it out.
func (q requests) answer(in Control) (outcome, note string) {
	switch {
	case q.facts.chainOperationIDs.has(in.ID):
		return Unchanged, "it was carried out on an earlier run of the chain"
	case q.journal.ofOtherChain(in.Chain):
		return Unchanged, "it was asked of the runs of another chain"
	}
	switch in.Operation {
	case TerminateTheRun:
	case CancelTheRun:
		if q.journal.cancellation.requested {
			return Unchanged, "it was asked to cancel before"
		}
	case SignalTheRun:
		switch {
		case q.signals.ids.has(signalKey(in.Signal, in.signalID())):
			return Unchanged, "it has received this signal before"
		case !in.Unanswered() && q.signals.full(q.row.state.Full) && !q.signals.awaits(in.Signal): // an unanswered sender learned it from the store
			return Refused, "it has as many unread signals as it may have, or too many with keys came within " + KeepKeys.String()
		}
	case PauseTheRun:
		if q.journal.paused != nil {
			return Unchanged, "it is paused already"
		}
		for _, c := range q.calls.byNumber {
			if inFlight(c.state) {
				return Applied, "attempts that are running may end; no other starts until the run is resumed"
			}
		}
	case ResumeTheRun:
		switch _, crashed := q.row.parkedForCrash(); {
		case q.journal.paused != nil:
		case crashed:
			return Applied, "its code is tried again"
		default:
			return Unchanged, "it is not paused"
		}
	case ResetTheRun:
		if in.Fault != nil {
			return Refused, in.Fault.Error()
		}
		return Applied, in.Cut.String()
	case MoveTheRun:
		outcome, note = WouldMove(q.row.pin, &in)
		switch {
		case outcome == Applied:
			note = "from build " + q.row.pin
		case q.row.pin == "":
			note += ": its workflow is not workflow.Pinned, or was not when it began, or its code has not begun"
		}
		return outcome, note
	default:
		return Refused, fmt.Sprintf("there is no operation %q on runs", in.Operation)
	}
	return Applied, ""
}

// recordOutcome records the outcome of an operation on the run, if a caller waits for it.
func (q requests) recordOutcome(in Control, outcome, note string) {
	if in.Unanswered() {
		if outcome != Applied {
			q.journal.out.Dropped++
		}
		return
	}
	q.journal.out.Answered = true
	q.facts.emit(history.Event{
		Kind: history.RunControlled, Call: in.Call, Name: cmp.Or(in.Signal, in.To), ID: in.ID, Operation: string(in.Operation),
		By: in.By, Reason: in.Reason, Outcome: outcome, Note: note,
	})
}

// reset closes the run, and the next run of its chain continues from a call. The code
// does not run, so the turn says CodeDeferred.
func (q requests) reset(in Control) {
	id := NextRunID(q.journal.start.Run, q.journal.now)
	q.journal.append(history.Event{Kind: history.CodeDeferred})
	in.Cut.reset = in.Cut.Reset(&q.journal.start, id, q.journal.now, in)
	in.Cut.reset.Carried.Admission = q.admission.ticket
	q.journal.out.Base = in.Cut
	q.facts.emit(history.Event{
		Kind: history.RunContinued, Call: in.Call, Initiator: history.ResetOfRun, ID: id, Attempt: 1,
		Operation: string(in.Operation), By: in.By, Reason: in.Reason,
	})
}

// A request to cancel the run has its place in history, and what ends after it ends canceled.
// Code that is there gives up its calls itself, in the same step. While it is away (missing,
// parked, paused), the machine does for it what cannot wait: no further attempt starts, those
// in flight are asked to end, and awaited children are asked to cancel. Timers and waits for
// signals stay as they are: the code gives them up when it is back, whatever came meanwhile.

// cancelOpen does for code that is away what a request to cancel the run asks for.
func (q requests) cancelOpen() {
	if !q.journal.cancellation.untold {
		return
	}
	for _, c := range q.calls.sorted() {
		switch {
		case c.Shielded || c.cancelRequested:
		case c.attempted() && c.state != Dispatched && c.state != Remote:
			q.attempts.closeWaiting(c, q.journal.now)
		case !q.journal.cancellation.fresh: // the turn that took the request has asked them
		case c.attempted():
			q.attempts.interrupt(c, false)
		case c.awaitsRun():
			q.facts.children().cancel(c)
		}
	}
	q.journal.cancellation.fresh = false
}
