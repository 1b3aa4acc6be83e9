package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// Load replays turns and applies the rows and the state of a run. It must be the first call
// on a Run that has history. It returns a *Mismatch if the code differs from the history,
// or the program's error if the code panicked.
func (r *Run) Load(turns []StoredTurn, rows []Row, state State) error {
	if err := r.replayAll(turns); err != nil {
		return err
	}
	for _, row := range rows {
		c, ok := r.calls.byNumber[row.Call]
		if !ok && r.calls.hasBlockRow(row.Call) {
			continue
		}
		if !ok {
			return history.Damaged(fmt.Sprintf("the row of call %d", row.Call), errors.New("no call of its number is open in history"))
		}
		if err := r.calls.restore(c, row); err != nil {
			return err
		}
	}
	r.loadRow(state, r.journal.program != nil)
	for _, c := range r.calls.sorted() {
		if c.state == Queued {
			r.attempts.ready = append(r.attempts.ready, c)
		}
	}
	return nil
}

// LoadDamaged is Load for a run whose record can be read only in part. turns are those
// before the damage, and last is the number of the last turn on record. Such a run takes
// only inputs that end it. Nothing falls due and no attempt starts, because what follows
// the damage may have closed any call.
func (r *Run) LoadDamaged(turns []StoredTurn, last int64, rows []Row, state State) error {
	r.damaged = true
	if err := r.replayAll(turns); err != nil {
		return err
	}
	r.journal.turn = max(r.journal.turn, last)
	for _, row := range rows {
		if c, open := r.calls.byNumber[row.Call]; !open || r.calls.restore(c, row) != nil {
			r.strays = append(r.strays, row.Call)
		}
	}
	r.loadRow(state, false)
	return nil
}

// loadRow takes over what only the row of the run holds.
func (r *Run) loadRow(state State, withCode bool) {
	r.row.load(state, withCode)
	r.admission.ticket = cmp.Or(r.row.admission, r.admission.ticket)
}

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
			return r.stopAtCut(stretch)
		}
		if err := r.replay(stretch); err != nil {
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
