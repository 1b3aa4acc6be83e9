package core

import (
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/retry"
)

// Every input has its moment: the engine time at which it became durable, or at which its
// cause happened. What comes due has the moment at which it is due. A step takes both in the
// order of their moments, whoever served when: a request that was acknowledged before a due
// time comes before it, also if no process ran until both had passed.

// Step advances the run to now. It takes the inputs in order, skipping nil ones, and what is
// due between their moments, and then runs the code. The caller passes the inputs in the
// order of their moments (see Timed). It calls admit for each attempt that could start. If
// admit returns true, a slot is reserved or the attempt takes one when it begins (see
// Config.Unslotted); otherwise the call stays queued.
func (r *Run) Step(now int64, inputs []Input, admit func(*Call) bool) (*Turn, error) {
	r.journal.now = max(r.journal.now, now)
	if r.journal.out, r.spare = r.spare, nil; r.journal.out == nil {
		r.journal.out = &Turn{Events: make([]history.Event, 0, usualTurn)}
	}
	r.journal.out.Time = r.journal.now
	if err := r.stepInputs(inputs); err != nil {
		return nil, err
	}
	if !r.damaged {
		r.attempts.admitReady(admit, r.codeFirst)
	}
	r.calls.writeRows()
	for _, c := range r.calls.offered { // the workers learn how to run them
		r.journal.out.Offered = append(r.journal.out.Offered, r.attempts.dispatchOf(c))
	}
	r.calls.offered = r.calls.offered[:0]
	r.updateState()
	out := r.journal.out
	r.journal.out = nil
	if len(out.Events) > 0 {
		// The first turn of a reset or forked run has the attributes that the code had set in the
		// copied history. The row has only those of the start event.
		if r.journal.turn == r.journal.start.Base.LastCut() && !maps.Equal(r.facts.attributes, r.journal.start.Attributes) {
			out.Attributes = r.facts.attributes
		}
		r.journal.length += len(out.Events)
		r.journal.turn++
		out.Number = r.journal.turn
	}
	return out, nil
}

func (r *Run) runCode() error {
	if !r.code.ran {
		r.facts.pinBegin()
	}
	resuming := len(r.journal.out.Events) == 0
	if err := r.code.advance(); err != nil {
		return err
	}
	if !r.facts.ended && len(r.calls.byNumber) == 0 && !r.code.updatable {
		return ErrDeadlock
	}
	if resuming && (len(r.journal.out.Events) == 0 || r.journal.turn > 0) {
		// No event says that the code ran here, so record it before the events it caused.
		r.journal.out.Events = slices.Insert(r.journal.out.Events, 0, history.Event{Kind: history.CodeAdvanced})
	}
	return nil
}

// stepInputs takes the inputs and what is due in the order of their moments, and runs the
// code. In a damaged run nothing falls due, and no code runs.
func (r *Run) stepInputs(inputs []Input) error {
	r.journal.moment, r.codeFirst = 0, false
	r.attempts.noteReportedEnds(inputs)
	until := r.journal.now
	for i, in := range inputs {
		if in == nil {
			continue
		}
		if more, is := in.(More); is {
			until = min(until, more.At-1)
			continue
		}
		in, at := moment(in)
		if _, loaded := in.(TakenOver); !loaded {
			at = min(at, r.journal.now)
			r.passTime(at-1, at)
		}
		switch {
		case r.codeFirst, r.facts.ended && !r.refuseInput(in), !r.facts.ended && !r.Takes(in):
			r.journal.out.Deferred = append(r.journal.out.Deferred, i)
		case !r.facts.ended:
			r.handle(in)
		}
	}
	r.passTime(until, until)
	if err := r.work(); err != nil {
		return err
	}
	if r.facts.ended {
		r.facts.endCalls()
		if r.journal.out.Next == nil {
			r.admission.leave()
		}
		r.journal.out.Closed = append(r.journal.out.Closed, r.strays...)
	}
	return nil
}

// passTime lets time pass up to a moment: what is due until then happens, the earliest first. An
// input comes before what is due at its moment, but not before the end of the run's time, to
// which time passes in any case. Where that ends, the code must have seen what came before; if
// it has not, time stops there, and the run is closed in the next step.
func (r *Run) passTime(due, to int64) {
	if r.facts.ended || r.damaged || r.codeFirst || due < r.journal.moment && to < r.Deadline() {
		return
	}
	end := r.Deadline()
	if r.journal.moment = max(r.journal.moment, min(due, end-1)); !r.code.rejoins() {
		r.attempts.fireDue()
	}
	if to < end {
		return
	}
	if r.codeFirst = r.journal.mustAdvance && r.code.ran && r.journal.program != nil && r.journal.paused == nil && !r.code.rejoins(); r.codeFirst {
		r.journal.out.Again = true
		return
	}
	r.journal.moment = to
	r.expire()
}

// work runs the code if there is something that it has to see.
func (r *Run) work() error {
	switch {
	case r.facts.ended || r.damaged:
		return nil
	case r.code.rejoins():
		return r.code.rejoin()
	case !r.journal.mustAdvance || r.neverBegins() || r.tooLong():
		return nil
	}
	if r.journal.program != nil && r.journal.paused == nil && (r.code.ran || r.journal.moment >= r.journal.start.FirstTurn && r.admission.admits()) {
		return r.runCode()
	}
	r.code.cancelOpen()
	if len(r.journal.out.Events) > 0 {
		r.journal.append(history.Event{Kind: history.CodeDeferred})
	}
	return nil
}

// Takes reports whether the run can take an input in the next step. A run that rejoins its
// history takes nothing before its code has rejoined; without code it can only be ended. An
// update needs code that can validate it, unless it is already on record. The end of an
// attempt from a queue waits for the message that the attempt was claimed.
func (r *Run) Takes(in Input) bool {
	if r.damaged {
		return endsDamaged(in)
	}
	switch in := in.(type) {
	case TakenOver:
		return true
	case AttemptEnded:
		return !r.code.rejoins() && !(in.Outside && r.calls.awaitsClaim(in))
	case UpdateArrived:
		_, known := r.facts.updates.get(in.ID)
		// It can be validated if the code is there and has reached its first wait, so that all its
		// handlers are set.
		return !r.code.rejoins() && (known || r.journal.program != nil && r.code.ran && r.journal.paused == nil && !r.facts.ended)
	case Control:
		ends := in.Operation == TerminateTheRun || in.Operation == ResetTheRun && in.Cut != nil
		return !r.code.rejoins() || r.journal.program == nil && ends && !r.facts.chainOperationIDs.has(in.ID)
	}
	return !r.code.rejoins()
}

// handle handles one input.
func (r *Run) handle(in Input) {
	switch in := in.(type) {
	case AttemptEnded:
		r.attempts.end(in)
	case Heartbeat:
		r.attempts.beat(in)
	case Granted:
		r.attempts.reserve(in)
	case OffProbation:
		r.attempts.leaveProbation(in)
	case Claimed:
		r.attempts.claim(in)
	case WorkerGone:
		r.attempts.loseWorker(in)
	case TakenOver:
		r.attempts.takeOver(in)
	case FromGate:
		if in.Ticket.OfRun() {
			r.admission.hear(in)
		} else {
			r.attempts.handleGate(in)
		}
	case SlotsOpen:
		r.attempts.askSlotsAgain()
	case UpdateArrived:
		r.handleUpdate(in)
	case Control:
		switch {
		case r.attempts.operationIDs.has(in.ID):
			r.journal.out.Dropped++
		case in.Operation.OfRun():
			r.operations().controlRun(in)
		default:
			r.operations().apply(in)
		}
	case Told:
		r.calls.markTold(in)
	case FromChild:
		r.facts.children().close(in)
	}
}

// refuseInput drops an input of a closed run. It returns false if the next run of the chain may
// take the input.
func (r *Run) refuseInput(in Input) bool {
	switch in := in.(type) {
	case UpdateArrived:
		return false
	case Granted:
		r.journal.out.Dropped++
		r.journal.out.Unused = append(r.journal.out.Unused, in.Call)
	case FromGate:
		if in.Ticket.OfRun() && r.journal.out.Next != nil {
			return false
		}
		r.gating.decline(in)
	default:
		if r.journal.out.Next != nil {
			return false
		}
		r.journal.out.Dropped++
	}
	return true
}

// endsDamaged reports whether an input ends a damaged run, or is answered with the reason
// why it does not.
func endsDamaged(in Input) bool {
	c, is := in.(Control)
	return is && (c.Operation == TerminateTheRun || c.Operation == ResetTheRun && (c.Cut != nil || c.Fault != nil))
}

// updateState computes the state of the run's row at the end of a step.
func (r *Run) updateState() {
	wake, full := Never, r.row.state.Full
	var awaited []string
	if !r.facts.ended && !r.damaged {
		if full = r.signals.full(full); full {
			awaited = r.signals.awaited()
		}
		wake = r.wakeAfterStep()
	}
	r.row.update(r.facts.ended, r.journal.paused, awaited, r.admission.ticket)
	if r.row.stateChanged || wake != r.row.state.Wake || full != r.row.state.Full || r.journal.out.Ended {
		r.row.stateChanged = false
		r.row.state.Wake, r.row.state.Full = wake, full
		next := r.row.state
		r.journal.out.State = &next
	}
}

// wakeAfterStep returns the wake time for the row. A row may stay Hot while the run waits
// only for a near time, which saves writes. A run that was in line leaves the line.
func (r *Run) wakeAfterStep() int64 {
	due := r.NextDue()
	if due != Never && len(r.calls.dues) > 0 && r.calls.dues[0].at == due {
		due = min(r.calls.dues[0].call.due, r.Deadline()) // readers of the row want the due time, not the earlier look
	}
	switch {
	case r.calls.busy > 0 || r.calls.unnotified > 0 || r.journal.out.Again:
		return Hot
	case due != Never && due-r.journal.now <= r.journal.config.Near && r.row.state.Wake >= Hot && r.row.state.Wake <= due:
		return r.row.state.Wake
	}
	return due
}

// NextDue returns when the run must be stepped if no input comes, or Never.
func (r *Run) NextDue() int64 {
	if r.facts.ended || r.damaged {
		return Never
	}
	due := r.Deadline()
	if at := r.journal.start.FirstTurn; at > r.journal.now && !r.code.ran && r.journal.program != nil {
		due = min(due, at)
	}
	if r.code.rejoins() {
		return due
	}
	return min(due, r.calls.nextDue(), r.signals.roomAt(r.row.state.Full))
}

// tooLong closes a run that reached MaxHistory, before its code makes the history longer.
// The failure is terminal because a retry would end the same way. The code does not run, so
// the turn says CodeDeferred.
func (r *Run) tooLong() bool {
	limit := r.journal.config.MaxHistory
	if limit <= 0 || r.journal.length < limit || r.journal.program == nil || r.journal.paused != nil {
		return false
	}
	err := &history.LimitError{What: "events of history", Limit: limit, Hint: "give many items to child workflows, let its code continue as new in time (see workflow.GetInfo), or raise perdure.MaxHistory " + see.Limits}
	r.journal.append(history.Event{Kind: history.CodeDeferred})
	r.facts.emit(history.Event{Kind: history.RunFailed, Failure: history.FromError(retry.Terminal(err)), Reason: string(retry.ReasonTerminal)})
	return true
}

// neverBegins closes a run whose code has not begun and may no longer begin: it was
// canceled before its first turn, or it is a retry and the time for all attempts has
// passed. The code does not run, so the turn says CodeDeferred.
func (r *Run) neverBegins() bool {
	s := &r.journal.start
	end := history.Event{Kind: history.RunCanceled}
	switch {
	case r.journal.cancellation.requested && (r.journal.cancellation.at < s.FirstTurn || r.admission.waits()) && !r.code.ran:
		phase := retry.PhaseBackoff
		if s.Failure == nil { // started with a delay, or it waits for others of its key
			phase = retry.PhaseQueue
		}
		end.Failure = history.Aborted(s.Type, max(s.Attempt-1, 1), phase, s.Failure)
	case s.Deadline != 0 && r.journal.now > s.Deadline && !r.code.ran && r.journal.program != nil:
		within := time.Duration(s.Deadline - r.facts.retries().firstAttempt())
		end.Kind, end.Reason = history.RunFailed, string(retry.ReasonWithin)
		end.Failure = r.facts.retries().exhaustedRun(s.Attempt-1, retry.ReasonWithin, 0, within, s.Failure)
	default:
		return false
	}
	r.journal.append(history.Event{Kind: history.CodeDeferred})
	r.facts.emit(end)
	return true
}

// expire closes the run if its time has run out. That comes before any other input of the
// moment, which is then too late. For the run's retry policy a run timeout is a failure
// like any other; a chain timeout ends the chain.
func (r *Run) expire() {
	at, kind, limit := deadline(&r.journal.start)
	if r.facts.ended || r.journal.now < at {
		return
	}
	r.code.applyToCut()
	end := history.Event{Kind: history.RunTimedOut, Failure: history.FromError(&retry.TimeoutError{Kind: kind, Limit: limit})}
	if policy := r.facts.retries().retryPolicy(); policy != nil && kind == retry.TimeoutRun {
		end = r.facts.retries().decide(end.Failure, policy)
	}
	if end.Kind == history.RunFailed {
		end.Kind = history.RunTimedOut
	}
	if end.Kind.Command() { // the code has no part in this command
		r.journal.append(history.Event{Kind: history.CodeDeferred})
	}
	r.facts.emit(end)
}

// Deadline returns when an open run is closed as timed out, with or without its code, or
// Never.
func (r *Run) Deadline() int64 {
	at, _, _ := deadline(&r.journal.start)
	return at
}
