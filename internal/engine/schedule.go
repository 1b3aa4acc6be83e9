package engine

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// scheduleKind is the kind of standing entities that start runs over and over. The runs are
// children of the schedule. A run that it starts twice has one ID, and is started once.
type scheduleKind struct{ engine *Engine }

func (k scheduleKind) decode(rec *store.Record) (core.Standing, error) {
	return record.Schedule(k.engine.group, rec)
}

// missing says that a schedule without a record was deleted.
func (scheduleKind) missing(string) (core.Standing, *store.Run, error) { return nil, nil, nil }

func (scheduleKind) notice(string, core.Standing) func(*core.StandingTurn) {
	return func(*core.StandingTurn) {}
}

func (scheduleKind) removed(string) {}

// rest is how long a schedule rests that could not go on.
func (scheduleKind) rest() time.Duration { return time.Minute }

// alreadyFired reports whether the run that a schedule starts exists, and drops the
// message if so: a schedule may say twice that a run is to begin.
func (e *Engine) alreadyFired(p *partition, m store.Message) bool {
	err := e.insist("looking for the run of a schedule", func() error {
		_, err := e.db.Find(e.ctx, p.home, "", m.Run)
		return err
	})
	switch {
	case err == nil:
		e.discard(&resident{partition: p, id: m.Run}, []mail{{sequence: m.Sequence}})
		return true
	case !errors.Is(err, store.ErrNotFound):
		e.leaveForLater(p, m.Sequence)
		return true
	}
	return false
}
