package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// idleLimit is how long a transaction that locks partitions may wait for its next
// statement, unless the node's lease is shorter: a stalled process must not keep its
// partitions longer than its lease. By then a hook of a live process has ended.
const idleLimit = store.HookLimit + time.Second

// writeWithResults writes turns in one transaction with a result for each. One query finds which are
// already durable or refused. The others are written together if that now works, otherwise
// one by one.
func (m *commit) writeWithResults(ctx context.Context, c *conn, part []int) error {
	err := c.transact(ctx, func(tx pgx.Tx) error {
		k := &resultWriter{commit: m, c: c, tx: tx, owned: map[int]int64{}}
		return k.write(ctx, part)
	})
	if err == nil && (m.delivered(part) || c.guests.Load()) {
		c.notify(ctx, store.NewsMessage)
	}
	if err == nil && slices.ContainsFunc(part, func(i int) bool { return m.errs[i] == nil && m.turns[i].HasTasks() }) {
		c.notify(ctx, store.NewsTasks)
	}
	return err
}

// delivered reports whether a durable turn had messages.
func (m *commit) delivered(part []int) bool {
	return slices.ContainsFunc(part, func(i int) bool { return m.errs[i] == nil && len(m.turns[i].Messages) > 0 })
}

// resultWriter is the state of writeWithResults in one transaction.
type resultWriter struct {
	*commit
	c     *conn
	tx    pgx.Tx
	owned map[int]int64 // epochs of the partitions that have an owner
	took  time.Duration // duration of the last hook
}

// plan says how a turn is to be written.
type plan struct {
	i       int        // index in the batch
	turn    store.Turn // without the creation of a run that exists
	follows string     // the run, if any, that the run to create follows
}

func (k *resultWriter) write(ctx context.Context, part []int) error {
	if err := k.lock(ctx, part); err != nil {
		return err
	}
	if len(part) > 1 && !k.blocked && !(k.overlapping && k.overlap(part)) {
		plans, err := k.makePlans(ctx, part)
		if err != nil {
			return err
		}
		part = column(len(plans), func(n int) int { return plans[n].i })
		if !tangled(plans) {
			err = k.attempt(ctx, plans)
			if err == nil {
				k.accept(part)
				return nil
			}
			if !unusual(err) && !k.c.misfit(err) {
				return err
			}
		}
	}
	for _, i := range part {
		if err := k.alone(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// tangled reports whether a plan follows a run whose state another plan changes: it was
// judged by the state before that change.
func tangled(plans []plan) bool {
	return slices.ContainsFunc(plans, func(p plan) bool {
		return p.follows != "" && slices.ContainsFunc(plans, func(o plan) bool {
			return o.turn.Run == p.follows && o.turn.State != nil && o.i != p.i
		})
	})
}

// lock locks the partitions as fence does, and reads their owners.
func (k *resultWriter) lock(ctx context.Context, part []int) error {
	return k.c.send(ctx, func(b *batch) {
		b.limitIdleness()
		b.query(`SELECT id, epoch, clock FROM perdure.partitions WHERE id = ANY ($1::bigint[]) AND node IS NOT NULL ORDER BY id FOR SHARE`,
			[]any{places(k.these(part))}, func(r pgx.Rows) error {
				var id int
				var epoch, clock int64
				err := r.Scan(&id, &epoch, &clock)
				k.owned[id], k.now = epoch, max(k.now, clock)
				return err
			})
		b.advance(&k.now)
		if len(part) > 1 {
			b.limitLocks(brief)
		} else {
			b.limitLocks(patience) // no other turn waits
		}
	})
}

// limitIdleness makes the server end the transaction if its next statement takes too long
// to come.
func (b *batch) limitIdleness() {
	b.do(`SELECT set_config('idle_in_transaction_session_timeout', $1, true)`, milliseconds(b.h.idleness()))
}

// holds reports whether the turn's epoch is the owner's.
func (k *resultWriter) holds(t *store.Turn) bool {
	epoch, owned := k.owned[t.Place()]
	return owned && epoch == t.Epoch
}

// alone writes one turn, or records why not.
func (k *resultWriter) alone(ctx context.Context, i int) error {
	// If a client creates the run first, consider again.
	return again(createdMeanwhile, func() error {
		plans, err := k.makePlans(ctx, []int{i})
		if err != nil || len(plans) == 0 {
			return err
		}
		return k.answer(i, k.attempt(ctx, plans))
	})
}

// answer records the result of a turn. It returns errors that do not concern only this
// turn.
func (k *resultWriter) answer(i int, err error) error {
	_, hook := errors.AsType[*store.HookError](err)
	_, spoiled := errors.AsType[*spoiledError](err)
	switch {
	case spoiled:
		return err
	case err == nil || hook:
		k.errs[i] = err
		return nil
	case code(err) == unheardOf:
		k.errs[i] = store.ErrNotFound
		return nil
	case code(err) == claimedState:
		k.errs[i] = store.ErrClaimed
		return nil
	case code(err) == lockNotAvailable:
		k.errs[i] = &store.UnavailableError{Op: "Commit", Err: fmt.Errorf("%s: %w: %w", k.h.info.Location, errBlocked, err), Undone: true}
		return nil
	case k.c.misfit(err) && !createdMeanwhile(err):
		k.errs[i] = &store.UnavailableError{Op: "Commit", Err: fmt.Errorf("%s: %w", k.h.info.Location, err), Undone: true, Refused: true}
		return nil
	case definite(err) && !createdMeanwhile(err):
		k.errs[i] = fmt.Errorf("%s: %w", k.h.info.Location, err)
		return nil
	}
	return err
}

// attempt writes turns in a savepoint and runs the hook if there is only one turn. It rolls
// back to the savepoint if anything fails.
func (k *resultWriter) attempt(ctx context.Context, plans []plan) error {
	if len(plans) == 0 {
		return nil
	}
	err := k.enterTurn(ctx, func(b *batch) { b.carryOut(plans) })
	hooked := err == nil && len(plans) == 1 && plans[0].turn.Hook != nil
	if hooked {
		err = k.runHook(ctx, &plans[0].turn)
	}
	leave := `RELEASE SAVEPOINT perdure_turn`
	switch {
	case k.c.left:
		return &spoiledError{plans[0].i, err}
	case err != nil:
		leave = `ROLLBACK TO SAVEPOINT perdure_turn; ` + leave
	case hooked:
		leave += `; ` + ordinary
	}
	left := k.leaveTurn(ctx, leave)
	switch {
	case left == nil:
		return err
	case hooked:
		return k.blame(plans[0].i, err, left)
	}
	return left
}

// enterTurn sends statements after a savepoint. The driver may make the server prepare all of
// them before the first one runs. If it refuses one, the savepoint is not there, and is sent by
// itself the next time.
func (k *resultWriter) enterTurn(ctx context.Context, fill func(b *batch)) error {
	const savepoint = `SAVEPOINT perdure_turn`
	if k.apart {
		if err := k.c.script(ctx, savepoint); err != nil {
			return err
		}
		return k.c.send(ctx, fill)
	}
	return k.c.send(ctx, func(b *batch) {
		b.do(savepoint)
		fill(b)
	})
}

// leaveTurn runs statements that end a savepoint. The coordinator of a distributed database
// forwards the complete text that contains a setting, so there each statement is sent
// separately.
func (k *resultWriter) leaveTurn(ctx context.Context, statements string) error {
	if !k.h.distributed {
		return k.c.script(ctx, statements)
	}
	for s := range strings.SplitSeq(statements, "; ") {
		if err := k.c.script(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// carryOut adds the writes of the plans.
func (b *batch) carryOut(plans []plan) {
	var turns, following []*store.Turn
	followed := map[*store.Turn]string{}
	for n := range plans {
		p := &plans[n]
		turns = append(turns, &p.turn)
		if p.follows != "" {
			following, followed[&p.turn] = append(following, &p.turn), p.follows
		}
	}
	b.byPartition(following, func(part []*store.Turn) {
		b.follow(part, runColumn(len(part), func(i int) string { return followed[part[i]] }))
	})
	b.write(turns)
}
