package core

import (
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// A run that was reset or forked begins with the history of another run, up to the middle
// of a turn: the point where the code made the call that is made again. The code reaches
// that point by replay and continues live, in the next turn. What the other run received
// later and is kept takes effect after that turn.

// rejoining is the state of such a run on its way.
type rejoining struct {
	turns []StoredTurn // turns to replay before going live; nil if done or not needed
	at    int64        // time of the turn before them
	rest  []StoredTurn // turns that continue the cut turn being replayed
	out   *Turn        // turn in which the code goes live
}

// stretch returns the turns that one advance of the code spans: one turn, or, if that is
// cut, also the turn that continues it.
func stretch(b *history.Base, turns []StoredTurn) []StoredTurn {
	n := 1
	for n < len(turns) && isCut(b, turns[:n]) && goesOn(&turns[n]) {
		n++
	}
	return turns[:n]
}

// isCut reports whether the last of the turns ends in the middle of its code.
func isCut(b *history.Base, turns []StoredTurn) bool {
	_, cut := b.CutOf(turns[len(turns)-1].Number)
	return cut
}

// goesOn reports whether a turn after a cut one continues it. It does not if the run ended
// before its code went on.
func goesOn(t *StoredTurn) bool {
	return len(t.Events) > 0 && t.Events[0].Kind == history.CodeAdvanced
}

// cutOff returns the events after the cuts in these turns.
func cutOff(b *history.Base, turns []StoredTurn) (events []history.Event) {
	for i := range turns {
		if n, cut := b.CutOf(turns[i].Number); cut {
			events = append(events, turns[i].Events[min(n, len(turns[i].Events)):]...)
		}
	}
	return events
}

// comeToCut ends a replay at the point where the run goes live. The code gets there in a
// step, because only a step lets it issue commands beyond the record.
func (r *Run) comeToCut(turns []StoredTurn) (err error) {
	at := r.journal.now
	if r.journal.program == nil {
		err = r.replay(turns)
	}
	r.shelve()
	r.rejoining.turns, r.rejoining.at = turns, at
	return err
}

// Rejoins reports whether the run has yet to continue from the history it began with.
func (r *Run) Rejoins() bool { return r.rejoining.turns != nil }

// rejoin runs the code to the cut and beyond.
func (r *Run) rejoin() error {
	if r.journal.program == nil {
		return nil
	}
	turns := r.rejoining.turns
	r.rejoining.turns, r.rejoining.out, r.journal.out = nil, r.journal.out, nil
	r.journal.now = r.rejoining.at
	if err := r.replay(turns); err != nil || r.ended {
		return err
	}
	r.renew()
	if len(r.calls.byNumber) == 0 && !r.updatable && !r.journal.mustAdvance {
		return ErrDeadlock
	}
	r.journal.out.Again = r.journal.mustAdvance
	return nil
}

// onRecord reports whether the record holds the command that the code issues now. Code that
// reaches the end of a cut turn continues with the next turn, or goes live.
func (r *Run) onRecord() bool {
	for r.replaying && r.position == len(r.expected) && r.journal.start.Base != nil {
		if _, cut := r.journal.start.Base.CutOf(r.journal.turn); !cut {
			break
		}
		r.calls.disownTries()
		if rest := r.rejoining.rest; len(rest) > 0 {
			r.rejoining.rest = rest[1:]
			r.enter(&rest[0])
			continue
		}
		r.goLive()
	}
	return r.replaying
}

// goLive ends a replay in the middle of a turn. The commands from here on are the first
// turn of the run itself.
func (r *Run) goLive() {
	r.replaying, r.expected, r.position = false, nil, 0
	r.journal.out, r.rejoining.out = r.rejoining.out, nil
	r.journal.now = max(r.journal.now, r.journal.out.Time)
	r.journal.emit(history.Event{Kind: history.CodeAdvanced})
	r.pinBegin()
	r.countElsewhere()
	r.shelve()
}

// shelve resets the state of calls that were made in another run: their attempts do not
// belong to this run.
func (r *Run) shelve() {
	for _, c := range r.calls.byNumber {
		if c.attempted() {
			r.calls.setState(c, "")
		}
	}
}

// renew starts these calls again.
func (r *Run) renew() {
	for _, n := range r.calls.openNumbers() {
		c := r.calls.byNumber[n]
		if c.backoffOf != nil {
			r.calls.touch(c)
		}
		if c.attempted() && n < r.journal.start.Base.Call {
			c.Progress = Progress{attempt: 1, First: r.journal.now, AtGates: make([]atGate, len(c.Gates)), renewed: true}
			r.attempts.wantSlot(c)
		}
	}
}

// applyLater applies the later events of a stretch. The node that ran the attempts has
// already counted the calls that these events close.
func (r *Run) applyLater() {
	if r.ended {
		return
	}
	later := r.journal.later
	r.journal.later = nil
	tallies := 0
	if r.journal.out != nil {
		tallies = len(r.journal.out.Tallies)
	}
	for i := range later {
		if r.ended {
			return
		}
		r.apply(&later[i])
	}
	r.countElsewhere()
	if r.journal.out != nil {
		r.journal.out.Tallies = r.journal.out.Tallies[:tallies]
	}
}

// countElsewhere forgets the counts of calls that were made in another run, which counts
// them.
func (r *Run) countElsewhere() {
	if r.journal.turn <= r.journal.start.Base.LastCut()+1 {
		r.ledger.uncounted = uncounted{}
	}
}

// unheard keeps the signals that have not taken effect when the run continues as new.
func (r *Run) unheard() {
	for _, e := range r.journal.later {
		if e.Kind == history.SignalReceived {
			m := r.signals.mailbox(e.Name)
			m.arrived++
			m.keep(&r.signals, received{e.Input, m.arrived})
			r.signals.seen.add(signalKey(e.Name, e.ID), r.journal.now)
		}
	}
	r.journal.later = slices.DeleteFunc(r.journal.later, func(e history.Event) bool { return e.Kind == history.SignalReceived })
}

// leaveCut applies the history of a run that ends before it rejoined.
func (r *Run) leaveCut() {
	if turns := r.rejoining.turns; turns != nil && r.journal.program != nil {
		out := r.journal.out
		r.journal.program, r.journal.out = nil, nil
		_ = r.replay(turns) // without code there is no mismatch
		r.journal.out = out
	}
}

// keyRun returns the run after which a call of an activity or step is named.
func keyRun(s *history.Start, call int64, name string) string {
	if s.Base == nil {
		return s.Run
	}
	if run := s.Base.KeyOf(call, name); run != "" {
		return run
	}
	for _, was := range s.Base.Was {
		if call < was.Before && was.WorkflowID == s.WorkflowID {
			return was.Run
		}
	}
	return s.Run
}

// identityOf returns the identity that a run shows to its own code.
func identityOf(s *history.Start) history.Identity {
	return history.Identity{
		WorkflowID: s.WorkflowID, Run: s.Run, Attempt: s.Attempt,
		Created: s.Created, FirstTurn: s.FirstTurn, ChainDeadline: s.ChainDeadline,
	}
}

// exchangeInput replaces the input of a call if the request for the reset gave another one.
func (r *Run) exchangeInput(e *history.Event) {
	if r.journal.start.Base == nil || !takesInput(e.Kind) {
		return
	}
	if input, other := r.journal.start.Base.Inputs[e.Call]; other {
		e.Input = input
	}
}

// takesInput reports whether a call that this command begins has an input that the run
// passes on.
func takesInput(k history.Kind) bool {
	return k == history.ActivityScheduled || k == history.ChildScheduled || k == history.DetachedScheduled
}
