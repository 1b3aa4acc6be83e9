package engine

import (
	"errors"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/post"
)

// The process that may write a run's next turn resets the run: for an open run its owner, in
// the turn that closes it; for a closed run the process that asks. In both cases the database
// copies the history. Only the turn that is cut passes through this process.

// resetRule gives a reset request a turn to itself, so that everything before it is in the
// history.
func resetRule(e *Engine) rule {
	return rule{
		limits: func(m post.Mail) bool {
			in, is := m.Input.(core.Control)
			return is && in.Operation == core.ResetTheRun
		},
		alone: e.prepareReset,
	}
}

// prepareReset adds to a reset request the part of the history to keep, or why there is
// none. The history does not grow meanwhile.
func (e *Engine) prepareReset(r *activeRun, m *post.Mail) error {
	in := m.Input.(core.Control)
	start := r.run.Start()
	err := e.db.reads.Insist(e.life.ctx, "reading the history of run "+r.id, func() (err error) {
		in.Cut, err = e.CutAt(e.life.ctx, r.location.partition, &start, in.Call, in.KeepKeys)
		return err
	})
	if refusal, is := errors.AsType[*inspect.CutError](err); is {
		in.Fault, err = refusal, nil
	}
	m.Input = in
	return err
}
