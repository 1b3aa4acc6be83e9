package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// placesCounted selects the partitions whose runs and calls are counted.
const placesCounted = `places AS (SELECT id FROM perdure.partitions WHERE $1 OR id = ANY ($2::bigint[]))`

func (h *handle) Counts(ctx context.Context, partitions []int, most int) (store.Counts, error) {
	all := partitions == nil
	partitions, err := h.info.Ordered(partitions)
	if err != nil {
		return store.Counts{}, err
	}
	var limit any
	if most > 0 {
		limit = most
	}
	var counts store.Counts
	err = h.share(ctx, "Counts", func(c *conn) error {
		counts = store.Counts{Runs: map[store.Status]int{}, Calls: map[store.CallState]int{}}
		if h.distributed && all {
			if partitions, err = c.everyPartition(ctx); err != nil {
				return err
			}
		}
		counted := 0
		err := c.send(ctx, func(b *batch) {
			if h.distributed {
				b.countRuns(all, partitions, limit, &counts)
			} else {
				b.countTogether(all, partitions, limit, &counts, &counted)
			}
			b.countCalls(all, partitions, limit, &counts)
			b.countAway(all, partitions, &counts)
		})
		if err != nil || most == 0 || counted < most {
			return err
		}
		clear(counts.Runs) // of which status the rest is, nobody knows
		return c.send(ctx, func(b *batch) { b.countRuns(all, partitions, limit, &counts) })
	})
	counts.Bound(most)
	return counts, err
}

// Each counts one state at a time, no further than $4 (NULL: all), in an index. Standing entities
// are all counted: they are not in the result, so nobody would see that there are more.
const (
	countedRuns = `WITH ` + placesCounted + `,
		others AS (SELECT s.status, (SELECT count(*) FROM (
			SELECT FROM places p JOIN perdure.runs r ON r.partition = p.id AND r.status = s.status AND r.status <> 'completed' LIMIT CASE WHEN s.status <> $5 THEN $4::bigint END) AS found) AS n
			FROM unnest($3::text[]) s (status))
		SELECT status, n FROM others UNION ALL
		SELECT 'completed', (SELECT count(*) FROM (SELECT FROM places p JOIN perdure.runs r ON r.partition = p.id LIMIT $4 + (SELECT sum(n) FROM others)::bigint) AS found)
			- (SELECT sum(n) FROM others)::bigint`

	countedCalls = `WITH ` + placesCounted + `,
		shared AS (SELECT state, sum(number - first) AS more FROM perdure.calls WHERE first <> 0 AND partition = ANY (ARRAY (SELECT id FROM places)) GROUP BY state)
		SELECT s.state, (SELECT count(*) FROM (SELECT FROM places p JOIN perdure.calls c ON c.partition = p.id AND c.state = s.state LIMIT $4) AS found)
				+ coalesce((SELECT more FROM shared WHERE shared.state = s.state), 0)::bigint,
			coalesce((SELECT min((SELECT c.due FROM perdure.calls c WHERE c.partition = p.id AND c.state = $5 AND c.due > 0 ORDER BY c.due LIMIT 1))
				FROM places p WHERE s.state = $5), 0)
		FROM unnest($3::text[]) s (state)`
)

// countedTogether reads the runs of all statuses but completed in one go, no further than $3, which
// with few of them is much less than to look for each status in each partition.
const countedTogether = `WITH ` + placesCounted + `,
		others AS (SELECT status, count(*) AS n FROM (SELECT status FROM perdure.runs
			WHERE status <> 'completed' AND partition = ANY (ARRAY (SELECT id FROM places)) LIMIT $3) r GROUP BY status),
		beyond AS (SELECT coalesce(sum(n), 0)::bigint AS n FROM others)
	SELECT status, n FROM others UNION ALL
	SELECT 'completed', (SELECT count(*) FROM (SELECT FROM perdure.runs WHERE partition = ANY (ARRAY (SELECT id FROM places)) LIMIT $3 + (SELECT n FROM beyond)) r) - (SELECT n FROM beyond)`

// countTogether adds a query for the runs of partitions, which adds up those that have not completed.
func (b *batch) countTogether(all bool, partitions []int, most any, counts *store.Counts, others *int) {
	b.query(countedTogether, []any{all, partitions, most}, func(r pgx.Rows) error {
		status, n, err := scanCount(r, counts)
		if status != store.Completed {
			*others += n
		}
		return err
	})
}

// countRuns adds a query that reads only indexes. No index of states has completed runs,
// which are counted as all runs minus the others.
func (b *batch) countRuns(all bool, partitions []int, most any, counts *store.Counts) {
	others := slices.DeleteFunc(append(store.Statuses(), store.Standing), func(s store.Status) bool { return s == store.Completed })
	query, args := countedRuns, []any{all, partitions, others, most, store.Standing}
	if b.h.distributed {
		query, args = `SELECT status, count(*) FROM perdure.runs WHERE partition = ANY ($1::bigint[]) GROUP BY status`, []any{partitions}
	}
	b.query(query, args, func(r pgx.Rows) error {
		_, _, err := scanCount(r, counts)
		return err
	})
}

// scanCount reads how many runs have a status, and keeps it. Standing entities are no runs.
func scanCount(r pgx.Rows, counts *store.Counts) (status store.Status, n int, err error) {
	if err = r.Scan(&status, &n); n > 0 && status != store.Standing {
		counts.Runs[status] = n
	}
	return status, n, err
}

// countAway adds a query that reads only the runs in wards: they have an index of their own.
// The books of trials in wards are no runs.
func (b *batch) countAway(all bool, partitions []int, counts *store.Counts) {
	b.query(`SELECT count(*) FROM perdure.runs WHERE ward <> 0 AND status <> $3 AND ($1 OR partition = ANY ($2::bigint[]))`,
		[]any{all && !b.h.distributed, partitions, store.Standing}, func(r pgx.Rows) error { return r.Scan(&counts.Away) })
}

func (b *batch) countCalls(all bool, partitions []int, most any, counts *store.Counts) {
	query, args := countedCalls, []any{all, partitions, store.CallStates(), most, store.Backoff}
	if b.h.distributed {
		query, args = `SELECT c.state, count(*) + coalesce(sum(c.number - c.first) FILTER (WHERE c.first <> 0), 0)::bigint, coalesce(min(c.due) FILTER (WHERE c.due > 0 AND c.state = $2), 0) FROM perdure.calls c WHERE c.partition = ANY ($1::bigint[]) GROUP BY c.state`,
			[]any{partitions, store.Backoff}
	}
	b.query(query, args, func(r pgx.Rows) error {
		var state store.CallState
		var n int
		var due int64
		err := r.Scan(&state, &n, &due)
		if n > 0 && !state.OfEntity() {
			counts.Calls[state] = n
			counts.NextRetry = max(counts.NextRetry, due)
		}
		return err
	})
}
