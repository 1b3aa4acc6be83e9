package core

import (
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// replayAll brings the machine and its code to the end of the record.
func (r *Run) replayAll(turns []StoredTurn) error {
	for i := range turns {
		if want := r.journal.turn + int64(i) + 1; turns[i].Number != want {
			return history.DamagedTurn(want, history.ErrMissing)
		}
		if late := slices.IndexFunc(cutOff(r.journal.start.Base, turns[i:i+1]), isCommand); late >= 0 {
			return &Mismatch{Turn: turns[i].Number, Expected: &cutOff(r.journal.start.Base, turns[i:i+1])[late]} // the code issues no command after the cut
		}
	}
	for len(turns) > 0 {
		stretch := stretch(r.journal.start.Base, turns)
		turns = turns[len(stretch):]
		if len(turns) == 0 && isCut(r.journal.start.Base, stretch) {
			return r.comeToCut(stretch)
		}
		if err := r.replay(stretch); err != nil {
			return err
		}
	}
	return nil
}

// replay replays one stretch of the record.
func (r *Run) replay(turns []StoredTurn) error {
	defer func() {
		for i := range turns {
			r.length += len(turns[i].Events)
		}
	}()
	r.journal.later = cutOff(r.journal.start.Base, turns)
	deferred := r.enter(&turns[0])
	if r.journal.program == nil || deferred || r.ended || isCut(r.journal.start.Base, turns) && r.rejoining.out == nil {
		r.applyCommands()
		for i := range turns[1:] {
			r.enter(&turns[i+1])
			r.applyCommands()
		}
		if r.journal.program == nil && !deferred {
			r.journal.mustAdvance, r.journal.cancellation.untold = false, false
			r.signals.unread = nil
		}
		r.applyLater()
		return nil
	}
	r.rejoining.rest = turns[1:]
	r.replaying = true
	err := r.advance()
	if err == nil && r.onRecord() && r.position < len(r.expected) {
		err = &Mismatch{Turn: r.journal.turn, Command: r.position + 1, Expected: &r.expected[r.position]}
	}
	r.replaying = false
	if err == nil {
		r.applyLater()
	}
	return err
}

// enter applies the inputs of a recorded turn and expects its commands from then on. It
// reports whether the turn says that its code was deferred.
func (r *Run) enter(t *StoredTurn) (deferred bool) {
	r.journal.turn, r.journal.epoch = t.Number, t.Epoch
	r.journal.now = max(r.journal.now, t.Time)
	r.countElsewhere()
	events := t.Events
	if n, cut := r.journal.start.Base.CutOf(t.Number); cut {
		events = events[:min(n, len(events))]
	}
	if r.journal.codePlace != 0 { // the code spans this turn, too
		r.journal.codePlace = 0
		defer func() { r.journal.codePlace = r.Place() }()
	}
	inputs := upToCommand(events)
	r.expected, r.position = events[len(inputs):], 0
	for i := range inputs {
		if inputs[i].Kind == history.CodeDeferred {
			deferred = true
			continue
		}
		r.apply(&inputs[i])
	}
	return deferred
}

// OnRecord reports whether the next command of the code is on record.
func (r *Run) OnRecord() bool { return r.onRecord() }

func isCommand(e history.Event) bool { return e.Kind.Command() }

// upToCommand returns the inputs with which a turn begins.
func upToCommand(events []history.Event) []history.Event {
	if i := slices.IndexFunc(events, isCommand); i >= 0 {
		return events[:i]
	}
	return events
}

// applyCommands applies the commands of the current turn without running the code.
func (r *Run) applyCommands() {
	for i := range r.expected {
		r.apply(&r.expected[i])
	}
}
