package engine

import (
	"errors"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/inspect"
)

// A run is reset by the process that may write its next turn: an open one by its owner, in
// the turn that closes it, one that has ended by the process that asks. In both cases the database
// copies the history; only the turn that is cut is handed to it.

// resetRule gives a request to reset a run a turn of its own, so that all that came
// before it is on record.
func resetRule(e *Engine) rule {
	return rule{
		limits: func(m mail) bool {
			in, is := m.input.(core.Control)
			return is && in.Operation == core.ResetTheRun
		},
		alone: e.prepareReset,
	}
}

// prepareReset adds to a request to reset a run what can be kept of its history, or why
// nothing can. The history does not grow meanwhile.
func (e *Engine) prepareReset(r *activeRun, m *mail) error {
	in := m.input.(core.Control)
	start := r.run.Start()
	err := e.insist("reading the history of run "+r.id, func() (err error) {
		in.Cut, err = e.CutAt(e.ctx, r.partition.home, &start, in.Call)
		return err
	})
	if refusal, is := errors.AsType[*inspect.CutError](err); is {
		in.Fault, err = refusal, nil
	}
	m.input = in
	return err
}
