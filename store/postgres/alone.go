package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// alone writes one turn in a savepoint, or notes why not.
func (k *carefully) alone(ctx context.Context, i int) error {
	// A client may create the run that we are about to: then we look again.
	return again(createdMeanwhile, func() error {
		t := k.turns[i]
		follows, durable, err := k.look(ctx, i, &t)
		if durable || err != nil {
			return k.answer(i, err)
		}
		err = k.save(ctx, func() error {
			err := k.c.send(ctx, func(b *batch) {
				if follows != "" {
					b.follow([]*store.Turn{&t}, follows)
				}
				b.write([]*store.Turn{&t})
			})
			if err != nil {
				return err
			}
			return k.runHook(ctx, &t)
		})
		if t.Hook != nil {
			err = k.blame(i, err)
		}
		return k.answer(i, err)
	})
}

// answer notes what is to be said of a turn. It passes on what is not about the
// turn alone.
func (k *carefully) answer(i int, err error) error {
	_, driver := errors.AsType[*driverError](err)
	_, hook := errors.AsType[*store.HookError](err)
	_, spoiled := errors.AsType[*spoiledError](err)
	switch {
	case spoiled:
		return err
	case err == nil || hook || !driver:
		k.errs[i] = err
		return nil
	case code(err) == unheardOf:
		k.errs[i] = store.ErrNotFound
		return nil
	case definite(err) && !createdMeanwhile(err):
		k.errs[i] = fmt.Errorf("%s: %w", k.h.info.Location, err)
		return nil
	}
	return err
}

// sight is what look sees.
type sight struct {
	taken   bool // another turn has the number
	commit  int64
	exists  bool   // the turn's own run
	created string // workflow ID of the run with the ID of the one to create, "" if there is none
	latest  *store.Run
}

// look answers whether the turn is durable already, and otherwise why it is
// refused, or which run, if any, has to make room for the one that it creates.
// It takes the creation out of the turn if that run exists already.
func (k *carefully) look(ctx context.Context, i int, t *store.Turn) (follows string, durable bool, err error) {
	var s sight
	if err := k.c.send(ctx, func(b *batch) { b.look(t, &s) }); err != nil {
		return "", false, err
	}
	switch {
	case s.taken && s.commit == t.CommitID:
		return "", true, nil
	case t.Number == 0 && t.Create != nil && s.created == t.Create.WorkflowID:
		return "", true, nil
	case k.spoiled[i] != nil:
		return "", false, k.spoiled[i]
	case !k.holds(t):
		return "", false, store.ErrFenced
	case s.taken:
		return "", false, store.ErrStale
	case !s.exists && !creates(t) && needsRun(t):
		return "", false, store.ErrNotFound
	}
	if follows, err = s.place(t); err == nil {
		err = k.deliverable(ctx, k.c, t)
	}
	return follows, false, err
}

// holds reports whether the turn's epoch is the owner's.
func (k *carefully) holds(t *store.Turn) bool {
	epoch, owned := k.owned[t.Partition]
	return owned && epoch == t.Epoch
}

// place answers which run has to make room for the one that the turn creates.
// The state that the turn gives its own run is taken into account: it may close
// the run that the new one follows.
func (s *sight) place(t *store.Turn) (follows string, err error) {
	if t.Create == nil {
		return "", nil
	}
	if s.created != "" {
		if s.created != t.Create.WorkflowID {
			return "", fmt.Errorf("run %q exists already, for workflow ID %q", t.Create.ID, s.created)
		}
		t.Create = nil
		return "", nil
	}
	if s.latest == nil {
		return "", nil
	}
	status := s.latest.Status
	if t.State != nil && s.latest.ID == t.Run {
		status = t.State.Status
	}
	if s.latest.Chain != t.Create.Chain || status.Open() {
		return "", &store.ConflictError{Existing: *s.latest}
	}
	return s.latest.ID, nil
}

// look adds what look asks.
func (b *batch) look(t *store.Turn, s *sight) {
	b.query(`SELECT commit_id FROM perdure.turns WHERE partition = $1 AND run = $2 AND number = $3`, []any{t.Partition, t.Run, t.Number},
		func(r pgx.Rows) error {
			s.taken = true
			return r.Scan(&s.commit)
		})
	b.query(`SELECT FROM perdure.runs WHERE partition = $1 AND id = $2`, []any{t.Partition, t.Run}, func(pgx.Rows) error {
		s.exists = true
		return nil
	})
	if t.Create == nil {
		return
	}
	b.query(`SELECT workflow_id FROM perdure.runs WHERE partition = $1 AND id = $2`, []any{t.Partition, t.Create.ID},
		func(r pgx.Rows) error { return r.Scan(&s.created) })
	b.query(`SELECT `+runColumns+` FROM perdure.runs WHERE partition = $1 AND workflow_id = $2 AND latest`, []any{t.Partition, t.Create.WorkflowID},
		func(r pgx.Rows) (err error) {
			s.latest, err = scanRun(r)
			return err
		})
}
