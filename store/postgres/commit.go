package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// commit is a Commit in progress.
type commit struct {
	h     *handle
	turns []store.Turn
	errs  []error // the results so far
	now   int64   // the database's clock

	overlapping bool          // two of the turns concern the same run
	blocked     bool          // a turn has to wait for another client's transaction
	apart       bool          // savepoints are sent apart: see enterTurn
	spoiled     map[int]error // turns whose hooks ended the transaction, and how
}

func (h *handle) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	m := &commit{h: h, turns: turns, errs: make([]error, len(turns)), spoiled: map[int]error{}}
	var live []int
	for i := range turns {
		if m.errs[i] = cmp.Or(turns[i].Validate(h.info), small(&turns[i])); m.errs[i] == nil {
			live = append(live, i)
		}
	}
	err := m.writeAll(ctx, live)
	for {
		spoiled, ok := errors.AsType[*spoiledError](err)
		if !ok {
			break
		}
		m.spoiled[spoiled.turn] = spoiled.err // without the culprit it will work
		err = m.writeAll(ctx, live)
	}
	if err != nil {
		return store.Result{}, err
	}
	// A commit that wrote nothing does not advance the clock.
	if slices.Contains(m.errs, nil) {
		m.now = h.observe(m.now)
	}
	return store.Result{Now: m.now, Errors: m.errs}, nil
}

func (m *commit) writeAll(ctx context.Context, live []int) error {
	return m.h.turns(ctx, "Commit", func(c *conn) error {
		if len(live) == 0 {
			_, err := c.one(ctx, `SELECT perdure.now()`, nil, &m.now)
			return err
		}
		for _, part := range m.split(live) {
			if err := m.write(ctx, c, part); err != nil {
				return err
			}
		}
		return nil
	})
}

// split returns which turns share a transaction, in order. A turn with a hook has a
// transaction of its own, so that no other turn waits for its hook. But if two turns
// concern the same run, all turns stay together.
func (m *commit) split(live []int) [][]int {
	if m.overlapping = m.overlap(live); m.overlapping {
		return [][]int{live}
	}
	var parts [][]int
	bytes := most + 1 // bytes of the last part
	for _, i := range live {
		t := &m.turns[i]
		if bytes += size(t); bytes > most || t.Hook != nil {
			parts, bytes = append(parts, nil), size(t)
		}
		last := len(parts) - 1
		parts[last] = append(parts[last], i)
		if t.Hook != nil {
			bytes = most + 1
		}
	}
	return parts
}

// overlap reports whether two of the turns concern the same run.
func (m *commit) overlap(part []int) bool {
	type key struct {
		partition int
		run       string
	}
	seen := make(map[key]struct{}, len(part))
	for _, i := range part {
		t := &m.turns[i]
		before := len(seen)
		if t.Run != "" {
			seen[key{t.Partition, t.Run}] = struct{}{}
			before++
		}
		if t.Create != nil && t.Create.ID != t.Run {
			seen[key{t.Partition, t.Create.ID}] = struct{}{}
			before++
		}
		if len(seen) < before {
			return true
		}
	}
	return false
}

// write makes some of the turns durable: together in one round trip if nothing about them
// is unusual, otherwise with a result for each.
func (m *commit) write(ctx context.Context, c *conn, part []int) error {
	m.blocked, m.apart = false, false
	if m.mayWriteTogether(ctx, c, part) {
		err := m.writeTogether(ctx, c, part)
		if err == nil || !unusual(err) && !c.misfit(err) {
			return err
		}
		m.blocked = code(err) == lockNotAvailable
		m.apart = c.misfit(err)
	}
	err := m.writeWithResults(ctx, c, part)
	if code(err) == noSavepoint && !m.apart {
		m.apart = true
		err = m.writeWithResults(ctx, c, part)
	}
	return err
}

// mayWriteTogether reports whether it is worth trying to write the turns together.
func (m *commit) mayWriteTogether(ctx context.Context, c *conn, part []int) bool {
	for _, i := range part {
		if m.turns[i].Hook != nil || m.deliverable(ctx, c, &m.turns[i]) != nil {
			return false
		}
	}
	return !(m.overlapping && m.overlap(part)) && m.epochs(part) != nil
}

// deliverable returns an error if the turn has a message for a partition that does not
// exist.
func (m *commit) deliverable(ctx context.Context, c *conn, t *store.Turn) error {
	for i := range t.Messages {
		if err := m.h.known(ctx, c, t.Messages[i].Partition); err != nil {
			return err
		}
	}
	return nil
}

// epochs returns the epoch of each place of the turns, or nil if one place has two.
func (m *commit) epochs(part []int) map[int]int64 {
	epochs := map[int]int64{}
	for _, i := range part {
		t := &m.turns[i]
		if epoch, ok := epochs[t.Place()]; ok && epoch != t.Epoch {
			return nil
		}
		epochs[t.Place()] = t.Epoch
	}
	return epochs
}

// unusual reports whether an error says that some turn is not plain, without saying which.
func unusual(err error) bool {
	switch code(err) {
	case unheardOf, uniqueViolation, lockNotAvailable, claimedState:
		return true
	}
	return definite(err)
}

// writeTogether writes plain turns in one round trip.
func (m *commit) writeTogether(ctx context.Context, c *conn, part []int) error {
	turns := m.these(part)
	var messages, tasks bool
	for _, t := range turns {
		messages, tasks = messages || len(t.Messages) > 0, tasks || t.HasTasks()
	}
	err := c.transaction(ctx, func(b *batch) {
		b.fence(m.epochs(part), &m.now)
		b.write(turns)
	}, func(b *batch) {
		if messages {
			b.notify(store.NewsMessage)
		}
		if tasks {
			b.notify(store.NewsTasks)
		}
	})
	if err == nil {
		m.accept(part)
	}
	return err
}

// accept marks turns as durable, even if they got an error before another part of the batch
// had to be written again.
func (m *commit) accept(part []int) {
	for _, i := range part {
		m.errs[i] = nil
	}
}

func (m *commit) these(part []int) []*store.Turn {
	turns := make([]*store.Turn, len(part))
	for at, i := range part {
		turns[at] = &m.turns[i]
	}
	return turns
}

// fence locks the partitions against other owners until the transaction ends, after waiting
// for one that is about to claim them. It raises an error unless the epochs are those of
// the owners. The check runs in the database, before the writes, so it needs no round trip
// of its own. After it the transaction waits for locks briefly or not at all.
func (b *batch) fence(epochs map[int]int64, now *int64) {
	ids := make([]int, 0, len(epochs))
	for p := range epochs {
		ids = append(ids, p)
	}
	slices.Sort(ids)
	expected := column(len(ids), func(i int) int64 { return epochs[ids[i]] })
	b.query(`SELECT CASE WHEN array_agg(epoch ORDER BY id) = $2::bigint[] THEN greatest(perdure.now(), max(clock))
			ELSE perdure.refuse('`+unheardOf+`', 'a partition has another owner') END, set_config('lock_timeout', $3, true)
		FROM (SELECT id, epoch, clock FROM perdure.partitions WHERE id = ANY ($1::bigint[]) AND node IS NOT NULL ORDER BY id FOR SHARE) p`,
		[]any{ids, expected, milliseconds(patience)}, func(r pgx.Rows) error { return r.Scan(now, nil) })
	if b.h.distributed {
		b.limitLocksOfWorkers(patience)
	}
}
