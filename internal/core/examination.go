package core

import (
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// Examination says of the record of a run what Load would say of it without the run's code. It takes
// the history in parts, of which it keeps only what is open, however long the history is.
type Examination struct {
	run  *Run
	held []StoredTurn // the end of a part, if the next one may continue it
}

// Examine begins the examination of a run.
func Examine(start history.Start) *Examination {
	return &Examination{run: New(Config{}, start)}
}

// Turns takes the next turns of the history. After an error the Examination must be dropped.
func (x *Examination) Turns(turns []StoredTurn) error {
	turns = append(x.held, turns...)
	whole := len(turns)
	for whole > 0 && isCut(x.run.journal.start.Base, turns[:whole]) {
		whole--
	}
	x.held = slices.Clone(turns[whole:])
	return x.run.code.replayAll(turns[:whole])
}

// Rows returns, once all turns are taken, an error for each row that Load would refuse. It returns
// one for the end of the history if Load would refuse that, and must be called only once.
func (x *Examination) Rows(rows []Row) (wrong []error) {
	if err := x.run.code.replayAll(x.held); err != nil {
		return []error{err}
	}
	for _, row := range rows {
		if err := x.run.calls.load(row); err != nil {
			wrong = append(wrong, err)
		}
	}
	return wrong
}
