package engine

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// scheduleKind is the kind of schedules. A schedule starts runs as its children. If it
// starts a run twice, both messages name one run ID, and the run is started once.
type scheduleKind struct{ engine *Engine }

func (k scheduleKind) decode(rec *store.Record) (core.Standing, error) {
	return record.Schedule(k.engine.db.group, rec)
}

// missing returns nothing: a schedule without a row was deleted.
func (scheduleKind) missing(string) (core.Standing, *store.Run, error) { return nil, nil, nil }

func (scheduleKind) notice(string, core.Standing) func(*core.StandingTurn) {
	return func(*core.StandingTurn) {}
}

func (scheduleKind) removed(string) {}

// rest returns how long a schedule that failed waits before it is tried again.
func (scheduleKind) rest() time.Duration { return time.Minute }

// alreadyFired reports whether the run that a schedule starts exists, and drops the message if
// so: a schedule may send the start of a run twice.
func (p *location) alreadyFired(m store.Message) bool {
	e := p.engine
	err := e.db.reads.Insist(e.life.ctx, "looking for the run of a schedule", func() error {
		_, err := e.db.Find(e.life.ctx, p.partition, "", m.Run)
		return err
	})
	switch {
	case err == nil:
		(&resident{location: p, id: m.Run}).discard([]post.Mail{{Sequence: m.Sequence}})
		return true
	case !errors.Is(err, store.ErrNotFound):
		p.box.Forget(m.Sequence)
		return true
	}
	return false
}
