package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

func (h *handle) Line(ctx context.Context, read store.LineRead) ([]store.LineRun, error) {
	partitions, err := h.info.Ordered(read.Partitions)
	if err != nil || len(partitions) == 0 {
		return nil, err
	}
	found := map[int][]store.LineRun{}
	turns := store.Turns{From: read.From, Limit: read.Share()}
	add := func(r pgx.Rows) error {
		var l store.LineRun
		err := r.Scan(&l.Partition, (*inWard)(&l.Partition), (*runID)(&l.Run), &l.Key, &l.Weight, &l.Priority, &l.Created)
		found[l.Partition] = append(found[l.Partition], l)
		return err
	}
	err = h.share(ctx, "Line", func(c *conn) error {
		clear(found)
		if !h.distributed {
			return c.query(ctx, `SELECT p.id, p.ward, r.* FROM unnest($1::bigint[], $2::bigint[]) AS p (id, ward), LATERAL (`+lineOf("p.id", "p.ward")+`) r
				WHERE EXISTS (SELECT FROM perdure.runs WHERE wake = `+inLineByKey+`)`,
				[]any{
					column(len(partitions), func(i int) int { p, _ := store.SplitPlace(partitions[i]); return p }),
					column(len(partitions), func(i int) int { _, w := store.SplitPlace(partitions[i]); return w }),
					turns.From, turns.Limit,
				}, add)
		}
		return c.send(ctx, func(b *batch) {
			for _, place := range partitions {
				p, ward := store.SplitPlace(place)
				b.query(`SELECT $1::bigint, $2::bigint, r.* FROM (`+lineOf("$1", "$2")+`) r`, []any{p, ward, turns.From, turns.Limit}, add)
			}
		})
	})
	if err != nil {
		return nil, err
	}
	var line []store.LineRun
	for _, place := range partitions {
		of := found[place]
		slices.SortFunc(of, func(a, b store.LineRun) int { return store.CompareLineRuns(&a, &b) })
		line = append(line, store.Take(turns, of, store.KeyOfLineRun)...)
	}
	return line, nil
}

// inLineByKey is written out, so that PostgreSQL sees that the index has those runs.
var inLineByKey = fmt.Sprint(store.InLineByKey)

// lineOf is the query of the runs of a place whose turn it may be, of keys from $3 on and then round,
// at most $4 keys. It asks the index for each key.
func lineOf(partition, ward string) string {
	here := "partition = " + partition + " AND ward = " + ward + " AND wake = " + inLineByKey
	keys := func(table, from, all string) string {
		first := "SELECT run_key, greatest(weight, 1) AS weight FROM perdure.runs WHERE " + here + " AND "
		order := " ORDER BY run_key, priority DESC, created, id LIMIT 1"
		return "(" + first + from + order + ") UNION ALL SELECT k.run_key, k.weight FROM " + table + " b, LATERAL (" + first + all + " AND run_key > b.run_key" + order + ") k"
	}
	return strings.Join([]string{
		"WITH RECURSIVE next AS (", keys("next", "run_key >= $3", "true"), "), again AS (", keys("again", "run_key < $3", "run_key < $3"),
		"), keys AS (SELECT * FROM (SELECT * FROM next UNION ALL SELECT * FROM again) k LIMIT $4)",
		"SELECT l.id, k.run_key, l.weight, l.priority, l.created FROM keys k, LATERAL (SELECT id, weight, priority, created FROM perdure.runs WHERE", here,
		"AND run_key = k.run_key ORDER BY priority DESC, created, id LIMIT ($4 + (SELECT count(*) FROM keys) - 1) / (SELECT count(*) FROM keys) * k.weight) l",
	}, " ")
}
