package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// In a distributed database Citus keeps the tables of runs on several servers, the workers,
// by partition (see Distributed). All rows of a partition are on one worker. The tables of
// nodes and ownership stay with the coordinator, to which engines connect, and so do the
// attempts offered in queues.
//
// One worker plans and runs a statement that names one partition, as PostgreSQL would. A
// statement that does not name one may be refused, or waits for others like it. Each
// statement that writes is therefore for one partition, and each that reads names its
// partitions.
//
// Turns whose partitions are on one worker share a transaction, which ends there with an
// ordinary COMMIT. A transaction that writes to several workers, for instance to send a
// message, ends with a two-phase commit.

// byPartition calls write for the turns of each partition if the database is distributed,
// otherwise for all of them.
func (b *batch) byPartition(turns []*store.Turn, write func(turns []*store.Turn)) {
	if !b.h.distributed {
		if len(turns) > 0 {
			write(turns)
		}
		return
	}
	rest := slices.Clone(turns)
	slices.SortStableFunc(rest, func(a, b *store.Turn) int { return cmp.Compare(a.Partition, b.Partition) })
	for len(rest) > 0 {
		n := 1
		for n < len(rest) && rest[n].Partition == rest[0].Partition {
			n++
		}
		b.home = int64(rest[0].Partition)
		write(rest[:n])
		rest = rest[n:]
	}
}

// oneByOne calls f for each of several turns if the database is distributed, and reports
// whether it did. For a single turn it sets the partition.
func (b *batch) oneByOne(turns []*store.Turn, f func(i int)) bool {
	if !b.h.distributed || len(turns) == 0 {
		return false
	}
	b.home = int64(turns[0].Partition)
	for i := range turns {
		if len(turns) > 1 {
			f(i)
		}
	}
	return len(turns) > 1
}

// ask is put for a statement with a result.
func (b *batch) ask(s statement, args []any, each func(r pgx.Rows) error) {
	text := s.plain
	if b.h.distributed {
		text, args = s.distributed, append(args, b.home)
	}
	b.query(text, args, each)
}

// deliverEach is deliver for a distributed database.
func (b *batch) deliverEach(messages []of[store.Message]) {
	for i := range messages {
		b.insertMessage(messages[i].part, `DO NOTHING`)
	}
}

// insertMessage adds a message by its values, so that the coordinator numbers it in order
// and one worker stores it. A message selected from rows would be copied by way of the
// coordinator, which takes a two-phase commit.
func (b *batch) insertMessage(m *store.Message, taken string) {
	b.do(`INSERT INTO perdure.inbox (partition, workflow_id, run, key, kind, data, posted)
		VALUES ($1, $2, $3, $4, $5, $6, greatest(perdure.now(), $7)) ON CONFLICT `+taken,
		m.Partition, m.WorkflowID, runID(m.Run), m.Key, m.Kind, payload(m.Data), b.h.clock.Load())
}

// seek queries the status of the run that would read a message, and postSeen posts the
// message after that. Together they are post for a distributed database, where one
// statement cannot do both on one worker.
func (b *batch) seek(m *store.Message, p *posting) {
	if m.ForOwner {
		p.reader = store.Running
		return
	}
	args := params{m.Partition, ""}
	var workflow, room string
	if m.Run != "" {
		workflow = args.add(m.WorkflowID)
	}
	if m.IfRoom {
		room = args.add(open)
	}
	query, key := readerOf(m, workflow, room)
	args[1] = key
	b.query(query, args, func(r pgx.Rows) error { return r.Scan(&p.reader) })
}

func (b *batch) postSeen(m *store.Message, p *posting) {
	if p.refusal() == nil {
		b.insertMessage(m, unlessPosted(m))
	}
}

// bind makes the writes of the transaction to workers and coordinator atomic. Writes to
// tables unknown to Citus, such as those of a step transaction or of queues, do not make
// Citus commit in two phases. A statement that could write to a table that it knows does.
func (b *batch) bind() {
	if b.h.distributed {
		b.do(`DELETE FROM perdure.steps WHERE partition = -1`)
	}
}

// limitLocksOfWorkers is limitLocks for locks on workers too: the coordinator forwards only
// SET LOCAL.
func (b *batch) limitLocksOfWorkers(d time.Duration) {
	b.do(`SET LOCAL lock_timeout = ` + milliseconds(d))
}

// eachPartition queries each partition, or all existing ones, in the same round trip. add
// takes a row of any of them. The partition is the query's first parameter.
func (c *conn) eachPartition(ctx context.Context, all bool, partitions []int, query string, args []any, add func(r pgx.Rows) error) error {
	if all {
		var err error
		if partitions, err = c.everyPartition(ctx); err != nil {
			return err
		}
	}
	return c.send(ctx, func(b *batch) {
		for _, p := range partitions {
			b.query(query, append([]any{p}, args...), add)
		}
	})
}

// everyPartition lists the existing partitions.
func (c *conn) everyPartition(ctx context.Context) ([]int, error) {
	var n int64
	if _, err := c.one(ctx, countPartitions, []any{c.h.info.Partitions}, &n); err != nil {
		return nil, err
	}
	return column(int(n), func(i int) int { return i }), nil
}

// newest sorts rows and cuts them to the limit.
func newest[T any](rows []T, limit int, compare func(a, b T) int) []T {
	slices.SortStableFunc(rows, compare)
	return rows[:min(len(rows), limit)]
}

// checkDistributed returns an error if the connections are not configured for a distributed
// database.
func (h *handle) checkDistributed(ctx context.Context) error {
	return h.hold(ctx, "Open", func(c *conn) error {
		var mode, propagate string
		if _, err := c.one(ctx, `SELECT current_setting('plan_cache_mode'), coalesce(current_setting('citus.propagate_set_commands', true), '')`, nil, &mode, &propagate); err != nil {
			return err
		}
		if mode == "force_generic_plan" || propagate != "local" {
			return fmt.Errorf("%s: the database is distributed, and its connections need plan_cache_mode=auto and citus.propagate_set_commands=local, and have %s and %q: put both into the URL, set them as RuntimeParams of the pool's ConnConfig, or let ALTER ROLE set them behind a pooler",
				h.info.Location, mode, propagate)
		}
		return nil
	})
}

// domain returns the commit domain of a partition, which is its worker. A partition whose
// worker is unknown is a domain of its own.
func (h *handle) domain(partition int) int {
	domains := h.domains.Load()
	switch {
	case domains == nil:
		return 0
	case partition < 0 || partition >= len(*domains):
		return -1 - max(partition, 0)
	}
	return (*domains)[partition]
}

// learnDomains reads which worker has each of the first n partitions, unless known. If
// partitions move later, commits span more workers than necessary, which is slower but
// correct.
func (h *handle) learnDomains(ctx context.Context, n int) error {
	if known := h.domains.Load(); known != nil && len(*known) >= n {
		return nil
	}
	domains := make([]int, n)
	err := h.hold(ctx, "Open", func(c *conn) error {
		var citus bool
		if _, err := c.one(ctx, hasCitus, nil, &citus); err != nil || !citus {
			return err
		}
		return c.query(ctx, `SELECT p.n, s.groupid FROM generate_series(0, $1::bigint - 1) AS p (n)
			JOIN pg_dist_placement s ON s.shardid = get_shard_id_for_distribution_column('perdure.places', p.n) AND s.shardstate = 1`, []any{n}, func(r pgx.Rows) error {
			var partition, worker int
			err := r.Scan(&partition, &worker)
			domains[partition] = worker
			return err
		})
	})
	if err == nil {
		h.domains.Store(&domains)
	}
	return err
}
