package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// The operations on a run as a whole.
const (
	CancelTheRun    Operation = "cancel"     // the code is asked to end
	TerminateTheRun Operation = "terminate"  // the run ends without asking its code
	SignalTheRun    Operation = "signal"     // sends a signal
	PauseTheRun     Operation = "pause-run"  // the code does not run and no attempt starts
	ResumeTheRun    Operation = "resume-run" // ends a pause-run
	ResetTheRun     Operation = "reset"      // the next run of the chain goes on from a call
	MoveTheRun      Operation = "move-runs"  // the run moves to another build
)

// RunOperations lists the operations on runs.
var RunOperations = []Operation{CancelTheRun, TerminateTheRun, SignalTheRun, PauseTheRun, ResumeTheRun, ResetTheRun, MoveTheRun}

// OfRun reports whether the operation applies to a run as a whole.
func (o Operation) OfRun() bool { return slices.Contains(RunOperations, o) }

// Unanswered reports whether no caller waits for the outcome of a request.
func (c *Control) Unanswered() bool {
	return c.ID == "" && (c.Operation == CancelTheRun || c.Operation == TerminateTheRun || c.Operation == SignalTheRun)
}

// named returns the operation for the event that it causes, "" for an unanswered request.
func (c *Control) named() string {
	if c.Unanswered() {
		return ""
	}
	return string(c.Operation)
}

// signalID returns the ID of the signal that a request sends.
func (c *Control) signalID() string { return cmp.Or(c.SignalID, c.ID) }

// controlRun carries out an operation on the run. An operation that an earlier run of the
// chain carried out is only answered.
func (r *Run) controlRun(in Control) {
	switch {
	case r.done.has(in.ID):
		r.answerRun(in, Unchanged, "it was carried out on an earlier run of the chain")
		return
	case r.journal.ofOtherChain(in.Chain):
		r.answerRun(in, Unchanged, "it was asked of the runs of another chain")
		return
	}
	switch in.Operation {
	case CancelTheRun:
		if r.journal.cancellation.requested {
			r.answerRun(in, Unchanged, "it was asked to cancel before")
			return
		}
		r.answerRun(in, Applied, "")
		r.happened(history.Event{Kind: history.RunCancelRequested, Reason: in.Reason, By: in.By, Operation: in.named()})
	case TerminateTheRun:
		r.answerRun(in, Applied, "")
		r.happened(history.Event{Kind: history.RunTerminated, Reason: in.Reason, By: in.By, Operation: in.named()})
	case SignalTheRun:
		if r.signals.seen.has(signalKey(in.Signal, in.signalID())) {
			r.answerRun(in, Unchanged, "it has received this signal before")
			return
		}
		if !in.Unanswered() && r.signals.full(r.row.state.Full) && !r.signals.awaits(in.Signal) { // an unanswered sender learned it from the store
			r.answerRun(in, Refused, "it has as many unread signals as it may have, or too many with keys came within "+KeepKeys.String())
			return
		}
		r.answerRun(in, Applied, "")
		r.happened(history.Event{
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
		r.answerRun(in, Refused, fmt.Sprintf("there is no operation %q on runs", in.Operation))
	}
}

// answerRun records the outcome of an operation on the run, if a caller waits for it.
func (r *Run) answerRun(in Control, outcome, note string) {
	if in.Unanswered() {
		if outcome != Applied {
			r.journal.out.Dropped++
		}
		return
	}
	r.journal.out.Answered = true
	r.happened(history.Event{
		Kind: history.RunControlled, Call: in.Call, Name: cmp.Or(in.Signal, in.To), ID: in.ID, Operation: string(in.Operation),
		By: in.By, Reason: in.Reason, Outcome: outcome, Note: note,
	})
}

// applyRunControlled applies the effects of an operation that no other event carries.
func (r *Run) applyRunControlled(e *history.Event) {
	r.attempts.asked.add(e.ID, r.journal.now)
	r.done.add(e.ID, r.journal.now)
	switch {
	case e.Outcome != Applied:
	case Operation(e.Operation) == PauseTheRun:
		r.setPaused(&Pause{By: e.By, Reason: e.Reason, At: r.journal.now})
	case Operation(e.Operation) == ResumeTheRun:
		r.setPaused(nil)
	}
	r.applyPin(e)
}

func (r *Run) setPaused(p *Pause) { r.journal.paused, r.row.pauseChanged = p, true }

// pauseRun keeps the code from running and attempts from starting. What happens meanwhile
// is recorded, and the code sees it when the run is resumed. An attempt in flight may end.
func (r *Run) pauseRun(in Control) {
	if r.journal.paused != nil {
		r.answerRun(in, Unchanged, "it is paused already")
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
	r.answerRun(in, Applied, note)
	for _, n := range r.calls.openNumbers() {
		if c := r.calls.byNumber[n]; c.attempted() && c.Pause == nil && c.state != Quarantined {
			r.operations.halt(c, &Pause{By: in.By, Reason: in.Reason, At: r.journal.now, OfRun: true})
		}
	}
}

// resumeRun resumes the code and the calls that were paused with it, or lets the code be tried
// again that ended its process.
func (r *Run) resumeRun(in Control) {
	if d, is := r.row.crashed(); is && r.journal.paused == nil {
		r.answerRun(in, Applied, "its code is tried again")
		r.row.letGo(d)
		return
	}
	if r.journal.paused == nil {
		r.answerRun(in, Unchanged, "it is not paused")
		return
	}
	r.answerRun(in, Applied, "")
	for _, n := range r.calls.openNumbers() {
		if c := r.calls.byNumber[n]; c.Pause != nil && c.Pause.OfRun {
			r.operations.letGo(c)
		}
	}
}
