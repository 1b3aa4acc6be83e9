package core

import (
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// replayAll brings the machine and its code to the end of the record.
func (k *code) replayAll(turns []StoredTurn) error {
	for i := range turns {
		if want := k.journal.turn + int64(i) + 1; turns[i].Number != want {
			return history.DamagedTurn(want, history.ErrMissing)
		}
		if late := slices.IndexFunc(cutOff(k.journal.start.Base, turns[i:i+1]), isCommand); late >= 0 {
			return &Mismatch{Turn: turns[i].Number, Expected: &cutOff(k.journal.start.Base, turns[i:i+1])[late]} // the code issues no command after the cut
		}
	}
	for len(turns) > 0 {
		stretch := stretch(k.journal.start.Base, turns)
		turns = turns[len(stretch):]
		if len(turns) == 0 && isCut(k.journal.start.Base, stretch) {
			return k.stopAtCut(stretch)
		}
		if err := k.replay(stretch); err != nil {
			return err
		}
	}
	return nil
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

// replay replays one stretch of the record.
func (k *code) replay(turns []StoredTurn) error {
	defer func() {
		for i := range turns {
			k.journal.length += len(turns[i].Events)
		}
	}()
	k.journal.afterCut = cutOff(k.journal.start.Base, turns)
	deferred := k.enterTurn(&turns[0])
	if k.journal.program == nil || deferred || k.facts.ended || isCut(k.journal.start.Base, turns) && k.rejoining.out == nil {
		k.applyCommands()
		for i := range turns[1:] {
			k.enterTurn(&turns[i+1])
			k.applyCommands()
		}
		if k.journal.program == nil && !deferred {
			k.journal.mustAdvance, k.journal.cancellation.untold = false, false
			k.signals.unread = nil
		}
		k.applyAfterCut()
		k.noteRenewed(turns)
		return nil
	}
	k.rejoining.rest = turns[1:]
	k.replaying = true
	err := k.advance()
	if err == nil && k.onRecord() && k.position < len(k.expected) {
		err = &Mismatch{Turn: k.journal.turn, Command: k.position + 1, Expected: &k.expected[k.position]}
	}
	k.replaying = false
	if err == nil {
		k.applyAfterCut()
		k.noteRenewed(turns)
	}
	return err
}

// noteRenewed notes when the last turn of a stretch started the copied calls again: see
// restartCopiedCalls. A call that was done before it had to be counted has no row that says so.
func (k *code) noteRenewed(turns []StoredTurn) {
	if len(turns) == 1 || k.journal.out != nil {
		return
	}
	for _, c := range k.calls.byNumber {
		if c.attempted() && c.Number < k.journal.start.Base.Call {
			c.First = k.journal.now
		}
	}
}

// applyAfterCut applies the later events of a stretch. The node that ran the attempts has
// already counted the calls that these events close.
func (k *code) applyAfterCut() {
	if k.facts.ended {
		return
	}
	later := k.journal.afterCut
	k.journal.afterCut = nil
	tallies := 0
	if k.journal.out != nil {
		tallies = len(k.journal.out.Tallies)
	}
	for i := range later {
		if k.facts.ended {
			return
		}
		k.facts.apply(&later[i])
	}
	k.dropForeignCounts()
	if k.journal.out != nil {
		k.journal.out.Tallies = k.journal.out.Tallies[:tallies]
	}
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

// rejoins reports whether the run has yet to continue from the history it began with.
func (k *code) rejoins() bool { return k.rejoining.turns != nil }

// stopAtCut ends a replay at the point where the run goes live. The code gets there in a
// step, because only a step lets it issue commands beyond the record.
func (k *code) stopAtCut(turns []StoredTurn) (err error) {
	at := k.journal.now
	if k.journal.program == nil {
		err = k.replay(turns)
	}
	k.resetCopiedCalls()
	k.rejoining.turns, k.rejoining.at = turns, at
	return err
}

// rejoin runs the code to the cut and beyond.
func (k *code) rejoin() error {
	if k.journal.program == nil {
		return nil
	}
	turns := k.rejoining.turns
	k.rejoining.turns, k.rejoining.out, k.journal.out = nil, k.journal.out, nil
	k.journal.now = k.rejoining.at
	if err := k.replay(turns); err != nil || k.facts.ended {
		return err
	}
	k.restartCopiedCalls()
	if len(k.calls.byNumber) == 0 && !k.updatable && !k.journal.mustAdvance {
		return ErrDeadlock
	}
	k.journal.out.Again = k.journal.mustAdvance
	return nil
}

// restartCopiedCalls starts these calls again.
func (k *code) restartCopiedCalls() {
	for _, c := range k.calls.sorted() {
		if c.backoffOf != nil {
			k.calls.touch(c)
		}
		if c.attempted() && c.Number < k.journal.start.Base.Call {
			c.Progress = Progress{attempt: 1, First: k.journal.now, AtGates: make([]atGate, len(c.Gates)), renewed: true}
			k.attempts.wantSlot(c)
		}
	}
}

// applyToCut applies the history of a run that ends before it rejoined.
func (k *code) applyToCut() {
	if turns := k.rejoining.turns; turns != nil && k.journal.program != nil {
		out := k.journal.out
		k.journal.program, k.journal.out = nil, nil
		_ = k.replay(turns) // without code there is no mismatch
		k.journal.out = out
	}
}
