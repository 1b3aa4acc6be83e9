package core

import (
	"cmp"
	"maps"

	"github.com/perdure/perdure/internal/history"
)

// emit records an event and applies it.
func (f *facts) emit(e history.Event) {
	f.journal.append(e)
	f.apply(&e)
}

// apply changes the machine as an event says, both live and in replay.
func (f *facts) apply(e *history.Event) {
	switch e.Kind {
	case history.SignalAwaited:
		f.signals.await(f.calls.open(e))
	case history.VersionMarked:
		f.attempts.close(f.calls.open(e))
		f.setVersion(e.Name, e.Version)
	case history.BlockStarted:
		f.attempts.close(f.calls.open(e))
		f.calls.startBlock(e)
	case history.SignalSent:
		f.attempts.close(f.calls.open(e))
		f.journal.send(Message{
			WorkflowID: e.ID, Input: Control{Operation: SignalTheRun, Signal: e.Name, SignalID: sentID(f.journal.start.Run, e.Call), Value: e.Input},
		})
	case history.ChildScheduled, history.DetachedScheduled:
		f.children().open(e)
	case history.CallCancelRequested:
		f.applyCancelRequested(e)
	case history.RunControlled:
		f.applyRunControlled(e)
	case history.SignalReceived:
		f.signals.apply(e)
	case history.UpdateAccepted:
		f.applyUpdateAccepted(e)
	case history.AttributeSet, history.AttributeRemoved:
		f.applyAttribute(e)
	case history.UpdateCompleted:
		if f.journal.out != nil {
			f.journal.out.Answered = true
		}
	case history.RunCancelRequested:
		f.applyCancellation(e)
	case history.CodeAdvanced:
		f.journal.mustAdvance = true
	case history.RunPinned:
		f.applyPin(e)
	case history.RunCompleted, history.RunFailed, history.RunCanceled, history.RunTerminated, history.RunTimedOut, history.RunContinued:
		f.applyEnd(e)
	default:
		f.attempts.apply(e)
	}
}

func (f *facts) applyEnd(e *history.Event) {
	f.ended = true
	detail := Detail{Failure: e.Failure, Says: f.row.says}
	switch e.Kind {
	case history.RunCompleted:
		result := e.Result // not &e.Result: that would keep every event alive
		detail.Result = &result
	case history.RunTerminated:
		detail.Reason = e.Reason
	case history.RunContinued:
		detail.Next, detail.Initiator = e.ID, e.Initiator
	}
	if f.journal.out != nil {
		f.journal.out.Ended = true
		if e.Kind == history.RunContinued {
			f.journal.out.Next = f.nextStart(e)
		}
		f.children().notifyParent(e)
	}
	f.row.state = State{Status: endStatus[e.Kind], Wake: Never, Closed: f.journal.now, Detail: EncodeDetail(detail)}
}

var endStatus = map[history.Kind]Status{
	history.RunCompleted:  StatusCompleted,
	history.RunFailed:     StatusFailed,
	history.RunCanceled:   StatusCanceled,
	history.RunTerminated: StatusTerminated,
	history.RunTimedOut:   StatusTimedOut,
	history.RunContinued:  StatusContinued,
}

func (f *facts) applyCancelRequested(e *history.Event) {
	c := f.calls.byNumber[e.Call]
	if c == nil {
		if e.Place != 0 { // give back a signal that was delivered but not read
			f.signals.deliver(f.signals.mailbox(e.Name), signal{e.Input, e.Place})
		}
		return
	}
	switch {
	case c.Kind == history.SignalAwaited:
		f.signals.withdraw(c)
	case c.Child != nil && e.Closed:
		f.children().abandon(c, "its parent does not want it any more")
	case c.Child != nil:
		f.children().cancel(c)
	}
	c.cancelRequested = true
	f.calls.touch(c) // its row says so, and those of others that are alike must not
	if f.journal.out != nil && inFlight(c.state) {
		f.attempts.interrupt(c, e.Closed)
	}
	if e.Closed {
		c.Failure, c.Retry = e.Failure, e.Retry
		if c.Failure == nil {
			c.Failure = abortedFailure(c)
		}
		f.ledger.count(c, e)
		f.attempts.close(c)
	}
}

// applyRunControlled applies the effects of an operation that no other event carries.
func (f *facts) applyRunControlled(e *history.Event) {
	f.attempts.operationIDs.add(e.ID, f.journal.now)
	f.chainOperationIDs.add(e.ID, f.journal.now)
	switch {
	case e.Outcome != Applied:
	case Operation(e.Operation) == PauseTheRun:
		f.pause(&Pause{By: e.By, Reason: e.Reason, At: f.journal.now})
	case Operation(e.Operation) == ResumeTheRun:
		f.pause(nil)
	}
	f.applyPin(e)
}

// applyAttribute changes the attributes of the run. It copies the map, which may be that of
// a start event and must not be modified.
func (f *facts) applyAttribute(e *history.Event) {
	changed := make(map[string]string, len(f.attributes)+1)
	maps.Copy(changed, f.attributes)
	if e.Kind == history.AttributeRemoved {
		delete(changed, e.Name)
	} else {
		var value string
		_ = e.Input.Decode(&value) // what was recorded is a string
		changed[e.Name] = value
	}
	f.attributes = changed
	if f.journal.out != nil {
		f.journal.out.Attributes = changed
	}
}

// applyUpdateAccepted makes the handler of an update begin in the code's next turn.
func (f *facts) applyUpdateAccepted(e *history.Event) {
	f.updates.put(e.ID, acceptance{f.journal.start.Run, f.journal.currentTurn()}, f.journal.now)
	f.journal.mustAdvance = true
	if f.journal.program != nil && !f.journal.program.Accept(e.ID, e.Name, e.Input) && f.journal.mismatch == nil {
		expected := *e
		f.journal.mismatch = &Mismatch{Turn: f.journal.currentTurn(), Expected: &expected}
	}
}

// applyPin applies an event that may pin the run to a build.
func (f *facts) applyPin(e *history.Event) {
	if build, is := PinOf(e); is && (f.journal.out != nil || f.journal.turn > f.journal.start.Base.LastCut()) {
		f.row.pin, f.row.pinChanged = build, true
	}
}

// applyCancellation applies a request to cancel the run.
func (f *facts) applyCancellation(e *history.Event) {
	f.journal.cancellation = cancellation{requested: true, untold: true, reason: e.Reason, at: f.journal.now}
	if f.journal.out != nil {
		f.journal.cancellation.fresh = true
		f.journal.cancellation.at = cmp.Or(f.journal.moment, f.journal.now)
	}
	f.journal.mustAdvance = true
	if f.journal.program != nil {
		f.journal.program.CancelComes(e.Reason)
	}
}

// pause pauses the run, or resumes it.
func (f *facts) pause(p *Pause) { f.journal.paused, f.row.pauseChanged = p, true }

func (f *facts) setVersion(change string, v int) {
	if f.versions == nil {
		f.versions = map[string]int{}
	}
	f.versions[change] = v
}

// endCalls gives up the calls that are still open when the run ends, and counts those not
// counted yet.
func (f *facts) endCalls() {
	for _, c := range f.calls.sorted() {
		if inFlight(c.state) {
			f.attempts.interrupt(c, true)
		}
		if c.Child != nil {
			f.children().abandon(c, "its parent has ended")
		}
		f.ledger.observeClosing(c, &history.Event{})
		if (c.attempted() || c.backoffOf != nil) && !f.journal.endsAfterCut(c.Number) {
			f.journal.out.Tallies = append(f.journal.out.Tallies, c.subject().tally(&history.Event{}, f.journal.now))
		}
		f.attempts.remove(c)
	}
	f.ledger.countFirstTries()
}

// pinBegin pins the run to the build with which its code begins, if configured.
func (f *facts) pinBegin() {
	if f.journal.config.Build != "" && f.row.pin == "" {
		f.emit(history.Event{Kind: history.RunPinned, Name: f.journal.config.Build})
	}
}
