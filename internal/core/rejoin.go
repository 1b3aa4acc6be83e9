package core

import (
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/history"
)

// A run that was reset or forked begins with the history of another one, up to the
// middle of a turn: where the code made the call that is made again. Its code comes to
// that place by replay and goes on from there live, in the next turn. What the other
// run was told later and is kept takes effect after that turn.

// rejoining is what such a run needs on its way.
type rejoining struct {
	turns []StoredTurn // at the end of which it goes on live, nil if it did or need not
	at    int64        // the time of the turn before them
	rest  []StoredTurn // in which the code goes on that is in the middle of a turn
	out   *Turn        // in which it goes on live
}

// stretch is how much of the record is one advance of the code: a turn, and if that is
// cut, the one in which the code went on.
func stretch(b *history.Base, turns []StoredTurn) []StoredTurn {
	n := 1
	for n < len(turns) && isCut(b, turns[:n]) && goesOn(&turns[n]) {
		n++
	}
	return turns[:n]
}

// isCut reports whether the last of the turns ends in the middle of what its code did.
func isCut(b *history.Base, turns []StoredTurn) bool {
	_, cut := b.CutOf(turns[len(turns)-1].Number)
	return cut
}

// goesOn reports whether a turn that follows one that is cut is its continuation: the
// run may have ended without it.
func goesOn(t *StoredTurn) bool {
	return len(t.Events) > 0 && t.Events[0].Kind == history.CodeAdvanced
}

// cutOff is what came after the code was stopped in these turns.
func cutOff(b *history.Base, turns []StoredTurn) (events []history.Event) {
	for i := range turns {
		if n, cut := b.CutOf(turns[i].Number); cut {
			events = append(events, turns[i].Events[min(n, len(turns[i].Events)):]...)
		}
	}
	return events
}

// comeToCut ends a replay where the run is to go on live. The code does so in a step,
// for only there it can do more than is on record.
func (r *Run) comeToCut(turns []StoredTurn) (err error) {
	at := r.now
	if r.program == nil {
		err = r.replay(turns)
	}
	r.shelve()
	r.rejoining.turns, r.rejoining.at = turns, at
	return err
}

// Rejoins reports whether the run has yet to go on from the history it began with.
func (r *Run) Rejoins() bool { return r.rejoining.turns != nil }

// rejoin lets the code come to where the run goes on, and go on.
func (r *Run) rejoin() error {
	if r.program == nil {
		return nil
	}
	turns := r.rejoining.turns
	r.rejoining.turns, r.rejoining.out, r.out = nil, r.out, nil
	r.now = r.rejoining.at
	if err := r.replay(turns); err != nil || r.ended {
		return err
	}
	r.renew()
	if len(r.calls) == 0 && !r.updatable && !r.mustAdvance {
		return ErrDeadlock
	}
	r.out.Again = r.mustAdvance
	return nil
}

// onRecord reports whether the code is at a place of which the record says what it asks
// for. Code that comes to the end of a turn that is cut goes on with the next one, or
// live.
func (r *Run) onRecord() bool {
	for r.replaying && r.position == len(r.expected) && r.start.Base != nil {
		if _, cut := r.start.Base.CutOf(r.turn); !cut {
			break
		}
		r.disownTries()
		if rest := r.rejoining.rest; len(rest) > 0 {
			r.rejoining.rest = rest[1:]
			r.enter(&rest[0])
			continue
		}
		r.goLive()
	}
	return r.replaying
}

// goLive ends a replay in the middle of a turn: what the code asks for from here on is
// the first turn of the run itself.
func (r *Run) goLive() {
	r.replaying, r.expected, r.position = false, nil, 0
	r.out, r.rejoining.out = r.rejoining.out, nil
	r.now = max(r.now, r.out.Time)
	r.emit(history.Event{Kind: history.CodeAdvanced})
	r.pinBegin()
	r.countElsewhere()
	r.shelve()
}

// shelve takes the calls that were made in another run out of the hands of those who
// ran their attempts: these are not this run's.
func (r *Run) shelve() {
	for _, c := range r.calls {
		if c.attempted() {
			r.setState(c, "")
		}
	}
}

// renew begins such calls afresh.
func (r *Run) renew() {
	for _, n := range r.openNumbers() {
		c := r.calls[n]
		if c.backoffOf != nil {
			r.touch(c)
		}
		if c.attempted() && n < r.start.Base.Call {
			c.attempts = attempts{attempt: 1, First: r.now, AtGates: make([]atGate, len(c.Gates)), renewed: true}
			r.wantSlot(c)
		}
	}
}

// applyLater lets what came later in the turns of a stretch take effect. The node that
// ran its attempts has counted the calls that it closes.
func (r *Run) applyLater() {
	if r.ended {
		return
	}
	later := r.later
	r.later = nil
	tallies := 0
	if r.out != nil {
		tallies = len(r.out.Tallies)
	}
	for i := range later {
		if r.ended {
			return
		}
		r.apply(&later[i])
	}
	r.countElsewhere()
	if r.out != nil {
		r.out.Tallies = r.out.Tallies[:tallies]
	}
}

// countElsewhere forgets the calls that were made in another run, which counts them.
func (r *Run) countElsewhere() {
	if r.turn <= r.start.Base.LastCut()+1 {
		r.uncounted = uncounted{}
	}
}

// unheard keeps the signals that have not taken effect when the code continues.
func (r *Run) unheard() {
	for _, e := range r.later {
		if e.Kind == history.SignalReceived {
			m := r.signals.mailbox(e.Name)
			m.arrived++
			m.keep(&r.signals, received{e.Input, m.arrived})
			r.signals.seen.add(signalKey(e.Name, e.ID), r.now)
		}
	}
	r.later = slices.DeleteFunc(r.later, func(e history.Event) bool { return e.Kind == history.SignalReceived })
}

// endedElsewhere reports whether a call ended in the run from which the history is, and
// that has not taken effect yet. If the code gives the call up, or the run ends, before
// it does, it comes too late; but who ran its attempts has counted it.
func (r *journal) endedElsewhere(call int64) bool {
	return slices.ContainsFunc(r.later, func(e history.Event) bool { return e.Call == call })
}

// leaveCut lets a run that ends before it went on have what its history says.
func (r *Run) leaveCut() {
	if turns := r.rejoining.turns; turns != nil && r.program != nil {
		out := r.out
		r.program, r.out = nil, nil
		_ = r.replay(turns) // without code nothing differs
		r.out = out
	}
}

// identity is who the run was when it made a call.
func (r *journal) identity(call int64) history.Identity {
	s := &r.start
	if s.Base != nil && call > 0 {
		for _, was := range s.Base.Was {
			if call < was.Before {
				return was
			}
		}
	}
	return identityOf(s)
}

// CallID names a call to the outside: what an earlier run of the workflow had begun and
// is begun afresh after a reset has the name that it had there.
func (r *journal) CallID(call int64) string {
	run := r.start.Run
	if r.start.Base != nil {
		for _, was := range r.start.Base.Was {
			if call < was.Before && was.WorkflowID == r.start.WorkflowID {
				run = was.Run
				break
			}
		}
	}
	return CallID(run, call)
}

// AttemptIDs names an attempt to the outside, and its call.
func (r *journal) AttemptIDs(call int64, attempt int) (ofCall, ofAttempt string) {
	ofAttempt = AttemptID(r.start.Run, call, attempt)
	if r.start.Base != nil {
		return r.CallID(call), ofAttempt
	}
	return ofAttempt[:strings.LastIndexByte(ofAttempt, '.')], ofAttempt // without a text of its own
}

// identityOf is who a run is to its own code.
func identityOf(s *history.Start) history.Identity {
	return history.Identity{
		WorkflowID: s.WorkflowID, Run: s.Run, Attempt: s.Attempt,
		Created: s.Created, FirstTurn: s.FirstTurn, ChainDeadline: s.ChainDeadline,
	}
}

// exchangeInput gives a call the input that the request for the reset had for it.
func (r *Run) exchangeInput(e *history.Event) {
	if r.start.Base == nil || !takesInput(e.Kind) {
		return
	}
	if input, other := r.start.Base.Inputs[e.Call]; other {
		e.Input = input
	}
}

// takesInput reports whether a call that such a command begins has an input that the
// run gives on.
func takesInput(k history.Kind) bool {
	return k == history.ActivityScheduled || k == history.ChildScheduled || k == history.DetachedScheduled
}
