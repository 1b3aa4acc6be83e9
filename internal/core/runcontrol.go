package core

import (
	"cmp"
	"fmt"

	"github.com/perdure/perdure/internal/history"
)

// controlRun carries out an operation on the run. An operation that an earlier run of the
// chain carried out is only answered.
func (r *Run) controlRun(in Control) {
	switch {
	case r.chainOperationIDs.has(in.ID):
		r.recordRunOutcome(in, Unchanged, "it was carried out on an earlier run of the chain")
		return
	case r.journal.ofOtherChain(in.Chain):
		r.recordRunOutcome(in, Unchanged, "it was asked of the runs of another chain")
		return
	}
	switch in.Operation {
	case CancelTheRun:
		if r.journal.cancellation.requested {
			r.recordRunOutcome(in, Unchanged, "it was asked to cancel before")
			return
		}
		r.recordRunOutcome(in, Applied, "")
		r.emit(history.Event{Kind: history.RunCancelRequested, Reason: in.Reason, By: in.By, Operation: in.named()})
	case TerminateTheRun:
		r.recordRunOutcome(in, Applied, "")
		r.emit(history.Event{Kind: history.RunTerminated, Reason: in.Reason, By: in.By, Operation: in.named()})
	case SignalTheRun:
		if r.signals.ids.has(signalKey(in.Signal, in.signalID())) {
			r.recordRunOutcome(in, Unchanged, "it has received this signal before")
			return
		}
		if !in.Unanswered() && r.signals.full(r.row.state.Full) && !r.signals.awaits(in.Signal) { // an unanswered sender learned it from the store
			r.recordRunOutcome(in, Refused, "it has as many unread signals as it may have, or too many with keys came within "+KeepKeys.String())
			return
		}
		r.recordRunOutcome(in, Applied, "")
		r.emit(history.Event{
			Kind: history.SignalReceived, Name: in.Signal, ID: in.signalID(), Input: in.Value, By: in.By, Operation: in.named(),
		})
	case PauseTheRun:
		r.pauseRun(in)
	case ResumeTheRun:
		r.resumeRun(in)
	case ResetTheRun:
		r.resetRun(in)
	case MoveTheRun:
		r.moveRun(in)
	default:
		r.recordRunOutcome(in, Refused, fmt.Sprintf("there is no operation %q on runs", in.Operation))
	}
}

// recordRunOutcome records the outcome of an operation on the run, if a caller waits for it.
func (r *Run) recordRunOutcome(in Control, outcome, note string) {
	if in.Unanswered() {
		if outcome != Applied {
			r.journal.out.Dropped++
		}
		return
	}
	r.journal.out.Answered = true
	r.emit(history.Event{
		Kind: history.RunControlled, Call: in.Call, Name: cmp.Or(in.Signal, in.To), ID: in.ID, Operation: string(in.Operation),
		By: in.By, Reason: in.Reason, Outcome: outcome, Note: note,
	})
}

// pauseRun keeps the code from running and attempts from starting. What happens meanwhile
// is recorded, and the code sees it when the run is resumed. An attempt in flight may end.
func (r *Run) pauseRun(in Control) {
	if r.journal.paused != nil {
		r.recordRunOutcome(in, Unchanged, "it is paused already")
		return
	}
	running := 0
	for _, c := range r.calls.byNumber {
		if inFlight(c.state) {
			running++
		}
	}
	note := ""
	if running > 0 {
		note = "attempts that are running may end; no other starts until the run is resumed"
	}
	r.recordRunOutcome(in, Applied, note)
	for _, c := range r.calls.sorted() {
		if c.attempted() && c.Pause == nil && c.state != Quarantined {
			r.operations.halt(c, &Pause{By: in.By, Reason: in.Reason, At: r.journal.now, OfRun: true})
		}
	}
}

// resumeRun resumes the code and the calls that were paused with it, or lets the code be tried
// again that ended its process.
func (r *Run) resumeRun(in Control) {
	if d, is := r.row.parkedForCrash(); is && r.journal.paused == nil {
		r.recordRunOutcome(in, Applied, "its code is tried again")
		r.row.releaseCode(d)
		return
	}
	if r.journal.paused == nil {
		r.recordRunOutcome(in, Unchanged, "it is not paused")
		return
	}
	r.recordRunOutcome(in, Applied, "")
	for _, c := range r.calls.sorted() {
		if c.Pause != nil && c.Pause.OfRun {
			r.operations.unpause(c)
		}
	}
}

// resetRun closes the run, and the next run of its chain continues from a call. The code
// does not run, so the turn says CodeDeferred.
func (r *Run) resetRun(in Control) {
	if in.Fault != nil {
		r.recordRunOutcome(in, Refused, in.Fault.Error())
		return
	}
	id := NextRunID(r.journal.start.Run, r.journal.now)
	r.recordRunOutcome(in, Applied, in.Cut.String())
	r.journal.append(history.Event{Kind: history.CodeDeferred})
	in.Cut.reset = in.Cut.Reset(&r.journal.start, id, r.journal.now, in)
	r.journal.out.Base = in.Cut
	r.emit(history.Event{
		Kind: history.RunContinued, Call: in.Call, Initiator: history.ResetOfRun, ID: id, Attempt: 1,
		Operation: string(in.Operation), By: in.By, Reason: in.Reason,
	})
}

// moveRun moves the run to another build.
func (r *Run) moveRun(in Control) {
	outcome, why := WouldMove(r.row.pin, &in)
	switch {
	case outcome == Applied:
		why = "from build " + r.row.pin
	case r.row.pin == "":
		why += ": its workflow is not workflow.Pinned, or was not when it began, or its code has not begun"
	}
	r.recordRunOutcome(in, outcome, why)
}
