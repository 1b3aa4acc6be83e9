package core

import (
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/history"
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
	r.attempts.describeOffers()
	r.updateState()
	if len(r.journal.out.Events) > 0 {
		r.carryAttributes()
	}
	out := r.journal.out
	r.journal.out = nil
	if len(out.Events) > 0 {
		r.length += len(out.Events)
		r.journal.turn++
		out.Number = r.journal.turn
	}
	return out, nil
}

func (r *Run) runCode() error {
	if !r.codeRan {
		r.pinBegin()
	}
	resuming := len(r.journal.out.Events) == 0
	if err := r.advance(); err != nil {
		return err
	}
	if !r.ended && len(r.calls.byNumber) == 0 && !r.updatable {
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
		case r.codeFirst, r.ended && !r.refuseInput(in), !r.ended && !r.Takes(in):
			r.journal.out.Deferred = append(r.journal.out.Deferred, i)
		case !r.ended:
			r.handle(in)
		}
	}
	r.passTime(until, until)
	if err := r.work(); err != nil {
		return err
	}
	if r.ended {
		r.endCalls()
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
	if r.ended || r.damaged || r.codeFirst || due < r.journal.moment && to < r.Deadline() {
		return
	}
	end := r.Deadline()
	if r.journal.moment = max(r.journal.moment, min(due, end-1)); !r.Rejoins() {
		r.attempts.fireDue()
	}
	if to < end {
		return
	}
	if r.codeFirst = r.journal.mustAdvance && r.codeRan && r.journal.program != nil && r.journal.paused == nil && !r.Rejoins(); r.codeFirst {
		r.journal.out.Again = true
		return
	}
	r.journal.moment = to
	r.expire()
}

// work runs the code if there is something that it has to see.
func (r *Run) work() error {
	switch {
	case r.ended || r.damaged:
		return nil
	case r.Rejoins():
		return r.rejoin()
	case !r.journal.mustAdvance || r.neverBegins() || r.tooLong():
		return nil
	}
	if r.journal.program != nil && r.journal.paused == nil && r.journal.moment >= r.firstTurn() && (r.codeRan || r.admission.admits()) {
		return r.runCode()
	}
	r.cancelOpen()
	if len(r.journal.out.Events) > 0 {
		r.journal.append(history.Event{Kind: history.CodeDeferred})
	}
	return nil
}

// carryAttributes adds to the first turn of a reset or forked run the attributes that the code
// had set in the copied history. The row has only those of the start event.
func (r *Run) carryAttributes() {
	if r.journal.turn == r.journal.start.Base.LastCut() && !maps.Equal(r.attributes, r.journal.start.Attributes) {
		r.journal.out.Attributes = r.attributes
	}
}
