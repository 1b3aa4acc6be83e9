package core

import (
	"cmp"
	"maps"

	"github.com/perdure/perdure/internal/history"
)

// emit records an event and applies it.
func (r *Run) emit(e history.Event) {
	r.journal.append(e)
	r.apply(&e)
}

// apply changes the machine as an event says, both live and in replay.
func (r *Run) apply(e *history.Event) {
	switch e.Kind {
	case history.SignalAwaited:
		r.signals.await(r.calls.open(e))
	case history.VersionMarked:
		r.attempts.close(r.calls.open(e))
		r.setVersion(e.Name, e.Version)
	case history.BlockStarted:
		r.attempts.close(r.calls.open(e))
		r.calls.startBlock(e)
	case history.SignalSent:
		r.attempts.close(r.calls.open(e))
		r.journal.send(Message{
			WorkflowID: e.ID, Input: Control{Operation: SignalTheRun, Signal: e.Name, SignalID: sentID(r.journal.start.Run, e.Call), Value: e.Input},
		})
	case history.ChildScheduled, history.DetachedScheduled:
		r.children().open(e)
	case history.CallCancelRequested:
		r.applyCancelRequested(e)
	case history.RunControlled:
		r.applyRunControlled(e)
	case history.SignalReceived:
		r.signals.apply(e)
	case history.UpdateAccepted:
		r.applyUpdateAccepted(e)
	case history.AttributeSet, history.AttributeRemoved:
		r.applyAttribute(e)
	case history.UpdateCompleted:
		if r.journal.out != nil {
			r.journal.out.Answered = true
		}
	case history.RunCancelRequested:
		r.applyCancellation(e)
	case history.CodeAdvanced:
		r.journal.mustAdvance = true
	case history.RunPinned:
		r.applyPin(e)
	case history.RunCompleted, history.RunFailed, history.RunCanceled, history.RunTerminated, history.RunTimedOut, history.RunContinued:
		r.applyEnd(e)
	default:
		r.attempts.apply(e)
	}
}

func (r *Run) applyEnd(e *history.Event) {
	r.ended = true
	detail := Detail{Failure: e.Failure, Says: r.row.says}
	switch e.Kind {
	case history.RunCompleted:
		result := e.Result // not &e.Result: that would keep every event alive
		detail.Result = &result
	case history.RunTerminated:
		detail.Reason = e.Reason
	case history.RunContinued:
		detail.Next, detail.Initiator = e.ID, e.Initiator
	}
	if r.journal.out != nil {
		r.journal.out.Ended = true
		if e.Kind == history.RunContinued {
			r.journal.out.Next = r.nextStart(e)
		}
		r.children().notifyParent(e)
	}
	r.row.state = State{Status: endStatus[e.Kind], Wake: Never, Closed: r.journal.now, Detail: EncodeDetail(detail)}
}

var endStatus = map[history.Kind]Status{
	history.RunCompleted:  StatusCompleted,
	history.RunFailed:     StatusFailed,
	history.RunCanceled:   StatusCanceled,
	history.RunTerminated: StatusTerminated,
	history.RunTimedOut:   StatusTimedOut,
	history.RunContinued:  StatusContinued,
}

func (r *Run) applyCancelRequested(e *history.Event) {
	c := r.calls.byNumber[e.Call]
	if c == nil {
		if e.Place != 0 { // give back a signal that was delivered but not read
			r.signals.deliver(r.signals.mailbox(e.Name), signal{e.Input, e.Place})
		}
		return
	}
	switch {
	case c.Kind == history.SignalAwaited:
		r.signals.withdraw(c)
	case c.Child != nil && e.Closed:
		r.children().abandon(c, "its parent does not want it any more")
	case c.Child != nil:
		r.children().cancel(c)
	}
	c.cancelRequested = true
	if r.journal.out != nil && inFlight(c.state) {
		r.attempts.interrupt(c, e.Closed)
	}
	if e.Closed {
		c.Failure, c.Retry = e.Failure, e.Retry
		if c.Failure == nil {
			c.Failure = abortedFailure(c)
		}
		r.ledger.count(c, e)
		r.attempts.close(c)
	}
}

// applyRunControlled applies the effects of an operation that no other event carries.
func (r *Run) applyRunControlled(e *history.Event) {
	r.attempts.operationIDs.add(e.ID, r.journal.now)
	r.chainOperationIDs.add(e.ID, r.journal.now)
	switch {
	case e.Outcome != Applied:
	case Operation(e.Operation) == PauseTheRun:
		r.setPaused(&Pause{By: e.By, Reason: e.Reason, At: r.journal.now})
	case Operation(e.Operation) == ResumeTheRun:
		r.setPaused(nil)
	}
	r.applyPin(e)
}

// applyAttribute changes the attributes of the run. It copies the map, which may be that of
// a start event and must not be modified.
func (r *Run) applyAttribute(e *history.Event) {
	changed := maps.Clone(r.attributes)
	if changed == nil {
		changed = map[string]string{}
	}
	if e.Kind == history.AttributeRemoved {
		delete(changed, e.Name)
	} else {
		var value string
		_ = e.Input.Decode(&value) // what was recorded is a string
		changed[e.Name] = value
	}
	r.attributes = changed
	if r.journal.out != nil {
		r.journal.out.Attributes = changed
	}
}

// applyUpdateAccepted makes the handler of an update begin in the code's next turn.
func (r *Run) applyUpdateAccepted(e *history.Event) {
	r.updates.put(e.ID, acceptance{r.journal.start.Run, r.journal.currentTurn()}, r.journal.now)
	r.journal.mustAdvance = true
	if r.journal.program != nil && !r.journal.program.Accept(e.ID, e.Name, e.Input) && r.mismatch == nil {
		expected := *e
		r.mismatch = &Mismatch{Turn: r.journal.currentTurn(), Expected: &expected}
	}
}

// applyPin applies an event that may pin the run to a build.
func (r *Run) applyPin(e *history.Event) {
	if build, is := PinOf(e); is && (r.journal.out != nil || r.journal.turn > r.journal.start.Base.LastCut()) {
		r.row.pin, r.row.pinChanged = build, true
	}
}

// applyCancellation applies a request to cancel the run.
func (r *Run) applyCancellation(e *history.Event) {
	r.journal.cancellation = cancellation{requested: true, untold: true, reason: e.Reason, at: r.journal.now}
	if r.journal.out != nil {
		r.journal.cancellation.fresh = true
		r.journal.cancellation.at = cmp.Or(r.journal.moment, r.journal.now)
	}
	r.journal.mustAdvance = true
	if r.journal.program != nil {
		r.journal.program.CancelComes(e.Reason)
	}
}

func (r *Run) setVersion(change string, v int) {
	if r.versions == nil {
		r.versions = map[string]int{}
	}
	r.versions[change] = v
}

// endCalls gives up the calls that are still open when the run ends, and counts those not
// counted yet.
func (r *Run) endCalls() {
	for _, c := range r.calls.sorted() {
		if inFlight(c.state) {
			r.attempts.interrupt(c, true)
		}
		if c.Child != nil {
			r.children().abandon(c, "its parent has ended")
		}
		r.ledger.observeClosing(c, &history.Event{})
		if (c.attempted() || c.backoffOf != nil) && !r.journal.endsAfterCut(c.Number) {
			r.journal.out.Tallies = append(r.journal.out.Tallies, c.subject().tally(&history.Event{}, r.journal.now))
		}
		r.attempts.remove(c)
	}
	r.ledger.countFirstTries()
}
