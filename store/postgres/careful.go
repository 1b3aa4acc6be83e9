package postgres

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// idleLimit is how long a hook may let its transaction wait for the next
// statement. The transaction holds locks: a process that vanished must not keep
// others waiting for them.
const idleLimit = time.Minute

// careful writes turns in one transaction with an answer for each: what is
// durable or refused already is found by one query, what is plain after all is
// written together, and the rest one by one.
func (m *commit) careful(ctx context.Context, c *conn, part []int) error {
	err := c.transact(ctx, func(tx pgx.Tx) error {
		k := &carefully{commit: m, c: c, tx: tx}
		return k.write(ctx, part)
	})
	if err == nil && m.delivered(part) {
		c.tell(ctx, store.NewsMessage)
	}
	return err
}

// delivered reports whether a turn that is durable had messages.
func (m *commit) delivered(part []int) bool {
	return slices.ContainsFunc(part, func(i int) bool { return m.errs[i] == nil && len(m.turns[i].Messages) > 0 })
}

// carefully is the work of careful in one transaction.
type carefully struct {
	*commit
	c     *conn
	tx    pgx.Tx
	owned map[int]int64 // the epochs of the partitions that have an owner
	took  time.Duration // how long the last hook ran
}

func (k *carefully) write(ctx context.Context, part []int) error {
	undecided, err := k.triage(ctx, part)
	if err != nil || len(undecided) == 0 {
		return err
	}
	held := !slices.ContainsFunc(undecided, func(i int) bool { return !k.holds(&k.turns[i]) })
	if len(undecided) < len(part) && held && k.usual(ctx, k.c, undecided) {
		err := k.save(ctx, func() error {
			return k.c.send(ctx, func(b *batch) { b.write(k.these(undecided)) })
		})
		if err == nil || !unusual(err) {
			return err
		}
	}
	for _, i := range undecided {
		if err := k.alone(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// triage locks the partitions, as fence does, and answers the turns about which
// one look decides: those that are durable, fenced or stale. It returns the
// others.
func (k *carefully) triage(ctx context.Context, part []int) (undecided []int, err error) {
	turns := k.these(part)
	type key struct {
		partition int
		run       string
		number    int64
	}
	known := map[key]int64{} // the commit IDs of turns that exist
	k.owned = map[int]int64{}
	err = k.c.send(ctx, func(b *batch) {
		b.do(`SELECT set_config('idle_in_transaction_session_timeout', $1, true)`, strconv.FormatInt(k.h.idle.Milliseconds(), 10))
		b.query(`SELECT id, epoch, greatest(perdure.now(), clock) FROM perdure.partitions
			WHERE id = ANY ($1::bigint[]) AND node IS NOT NULL ORDER BY id FOR SHARE`, []any{partitions(turns)}, func(r pgx.Rows) error {
			var id int
			var epoch int64
			err := r.Scan(&id, &epoch, &k.now)
			k.owned[id] = epoch
			return err
		})
		b.query(`SELECT perdure.now()`, nil, func(r pgx.Rows) error {
			var now int64
			err := r.Scan(&now)
			k.now = max(k.now, now)
			return err
		})
		b.query(`SELECT t.partition, t.run, t.number, t.commit_id FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS w (partition, run, number)
			JOIN perdure.turns t ON t.partition = w.partition AND t.run = w.run AND t.number = w.number`,
			[]any{partitions(turns), runs(turns), column(len(turns), func(i int) int64 { return turns[i].Number })}, func(r pgx.Rows) error {
				var at key
				var commit int64
				err := r.Scan(&at.partition, &at.run, &at.number, &commit)
				known[at] = commit
				return err
			})
	})
	together := !k.overlap(part) // else one of the turns may change what is true of another
	for at, i := range part {
		t := turns[at]
		commit, taken := known[key{t.Partition, t.Run, t.Number}]
		switch {
		case taken && commit == t.CommitID:
			k.errs[i] = nil
		case t.Number == 0 && t.Create != nil, !together: // it may be durable all the same
			undecided = append(undecided, i)
		case !k.holds(t):
			k.errs[i] = store.ErrFenced
		case taken:
			k.errs[i] = store.ErrStale
		default:
			undecided = append(undecided, i)
		}
	}
	return undecided, err
}

// save runs f in a savepoint, to which it goes back if f answers an error.
func (k *carefully) save(ctx context.Context, f func() error) error {
	if _, err := k.c.exec(ctx, `SAVEPOINT perdure_turn`); err != nil {
		return err
	}
	err := f()
	if err != nil {
		if _, failed := k.c.exec(ctx, `ROLLBACK TO SAVEPOINT perdure_turn`); failed != nil {
			return &lostError{undoing: err, err: failed}
		}
	}
	if _, failed := k.c.exec(ctx, `RELEASE SAVEPOINT perdure_turn`); failed != nil {
		return &lostError{undoing: err, err: failed}
	}
	return err
}

// lostError says that a savepoint could not be left.
type lostError struct{ undoing, err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }
