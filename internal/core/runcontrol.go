package core

import (
	"cmp"
	"fmt"

	"github.com/perdure/perdure/internal/history"
)

// controlRun carries out an operation on the run and records the outcome. An operation that
// an earlier run of the chain carried out is only answered.
func (o operations) controlRun(in Control) {
	outcome, note := o.answerRun(in)
	paused := o.journal.paused != nil
	o.recordRunOutcome(in, outcome, note)
	if outcome != Applied {
		return
	}
	switch in.Operation {
	case CancelTheRun:
		o.facts.emit(history.Event{Kind: history.RunCancelRequested, Reason: in.Reason, By: in.By, Operation: in.named()})
	case TerminateTheRun:
		o.facts.emit(history.Event{Kind: history.RunTerminated, Reason: in.Reason, By: in.By, Operation: in.named()})
	case SignalTheRun:
		o.facts.emit(history.Event{
			Kind: history.SignalReceived, Name: in.Signal, ID: in.signalID(), Input: in.Value, By: in.By, Operation: in.named(),
		})
	case PauseTheRun:
		// No attempt starts while the run is paused. What happens meanwhile is recorded, and the code
		// sees it when the run is resumed. An attempt in flight may end.
		for _, c := range o.calls.sorted() {
			if c.attempted() && c.Pause == nil && c.state != Quarantined && c.state != InDoubt {
				o.halt(c, &Pause{By: in.By, Reason: in.Reason, At: o.journal.now, OfRun: true})
			}
		}
	case ResumeTheRun:
		for _, c := range o.calls.sorted() {
			if paused && c.Pause != nil && c.Pause.OfRun {
				o.unpause(c)
			}
		}
		if d, is := o.row.parkedForCrash(); is && !paused {
			o.row.releaseCode(d)
		}
	case ResetTheRun:
		o.resetRun(in)
	}
}

// answerRun returns the outcome of an operation on the run, without carrying it out.
func (o operations) answerRun(in Control) (outcome, note string) {
	switch {
	case o.facts.chainOperationIDs.has(in.ID):
		return Unchanged, "it was carried out on an earlier run of the chain"
	case o.journal.ofOtherChain(in.Chain):
		return Unchanged, "it was asked of the runs of another chain"
	}
	switch in.Operation {
	case TerminateTheRun:
	case CancelTheRun:
		if o.journal.cancellation.requested {
			return Unchanged, "it was asked to cancel before"
		}
	case SignalTheRun:
		switch {
		case o.signals.ids.has(signalKey(in.Signal, in.signalID())):
			return Unchanged, "it has received this signal before"
		case !in.Unanswered() && o.signals.full(o.row.state.Full) && !o.signals.awaits(in.Signal): // an unanswered sender learned it from the store
			return Refused, "it has as many unread signals as it may have, or too many with keys came within " + KeepKeys.String()
		}
	case PauseTheRun:
		if o.journal.paused != nil {
			return Unchanged, "it is paused already"
		}
		for _, c := range o.calls.byNumber {
			if inFlight(c.state) {
				return Applied, "attempts that are running may end; no other starts until the run is resumed"
			}
		}
	case ResumeTheRun:
		switch _, crashed := o.row.parkedForCrash(); {
		case o.journal.paused != nil:
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
		outcome, note = WouldMove(o.row.pin, &in)
		switch {
		case outcome == Applied:
			note = "from build " + o.row.pin
		case o.row.pin == "":
			note += ": its workflow is not workflow.Pinned, or was not when it began, or its code has not begun"
		}
		return outcome, note
	default:
		return Refused, fmt.Sprintf("there is no operation %q on runs", in.Operation)
	}
	return Applied, ""
}

// recordRunOutcome records the outcome of an operation on the run, if a caller waits for it.
func (o operations) recordRunOutcome(in Control, outcome, note string) {
	if in.Unanswered() {
		if outcome != Applied {
			o.journal.out.Dropped++
		}
		return
	}
	o.record(in, history.Event{Kind: history.RunControlled, Call: in.Call, Name: cmp.Or(in.Signal, in.To)}, outcome, note)
}

// resetRun closes the run, and the next run of its chain continues from a call. The code
// does not run, so the turn says CodeDeferred.
func (o operations) resetRun(in Control) {
	id := NextRunID(o.journal.start.Run, o.journal.now)
	o.journal.append(history.Event{Kind: history.CodeDeferred})
	in.Cut.reset = in.Cut.Reset(&o.journal.start, id, o.journal.now, in)
	in.Cut.reset.Carried.Admission = o.facts.admission.ticket
	o.journal.out.Base = in.Cut
	o.facts.emit(history.Event{
		Kind: history.RunContinued, Call: in.Call, Initiator: history.ResetOfRun, ID: id, Attempt: 1,
		Operation: string(in.Operation), By: in.By, Reason: in.Reason,
	})
}
