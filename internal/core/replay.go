package core

import "github.com/perdure/perdure/internal/history"

// replay replays one stretch of the record.
func (r *Run) replay(turns []StoredTurn) error {
	defer func() {
		for i := range turns {
			r.length += len(turns[i].Events)
		}
	}()
	r.journal.afterCut = cutOff(r.journal.start.Base, turns)
	deferred := r.enterTurn(&turns[0])
	if r.journal.program == nil || deferred || r.ended || isCut(r.journal.start.Base, turns) && r.rejoining.out == nil {
		r.applyCommands()
		for i := range turns[1:] {
			r.enterTurn(&turns[i+1])
			r.applyCommands()
		}
		if r.journal.program == nil && !deferred {
			r.journal.mustAdvance, r.journal.cancellation.untold = false, false
			r.signals.unread = nil
		}
		r.applyAfterCut()
		return nil
	}
	r.rejoining.rest = turns[1:]
	r.replaying = true
	err := r.advance()
	if err == nil && r.OnRecord() && r.position < len(r.expected) {
		err = &Mismatch{Turn: r.journal.turn, Command: r.position + 1, Expected: &r.expected[r.position]}
	}
	r.replaying = false
	if err == nil {
		r.applyAfterCut()
	}
	return err
}

func (r *Run) advance() error {
	r.journal.codePlace = r.Place()
	defer func() { r.journal.codePlace = 0 }()
	if r.journal.cancellation.untold {
		r.journal.cancellation.untold, r.journal.cancellation.fresh = false, false
		r.journal.program.Canceled(r.journal.cancellation.reason)
	}
	if r.mismatch != nil {
		return r.mismatch // the first difference; perhaps there is no handler for an update
	}
	if r.journal.config.Progress != nil {
		r.journal.config.Progress()
	}
	err := r.journal.program.Advance()
	r.journal.mustAdvance, r.codeRan = false, true
	r.signals.unread = nil
	if r.mismatch != nil {
		return r.mismatch
	}
	return err
}

// applyAfterCut applies the later events of a stretch. The node that ran the attempts has
// already counted the calls that these events close.
func (r *Run) applyAfterCut() {
	if r.ended {
		return
	}
	later := r.journal.afterCut
	r.journal.afterCut = nil
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
	r.dropForeignCounts()
	if r.journal.out != nil {
		r.journal.out.Tallies = r.journal.out.Tallies[:tallies]
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
