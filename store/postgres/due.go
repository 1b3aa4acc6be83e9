package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// firstRound is how many runs of each partition Due reads first, in addition to the
// partition's share of the limit.
const firstRound = 16

func (h *handle) Due(ctx context.Context, partitions []int, after, until int64, limit int) ([]store.Wake, error) {
	partitions, err := h.info.Ordered(partitions)
	if err != nil || len(partitions) == 0 {
		return nil, err
	}
	return shared(ctx, h, "Due", func(c *conn) ([]store.Wake, error) {
		d := &dueRuns{limit: limit, until: until}
		for _, p := range partitions {
			d.open = append(d.open, reached{p, after})
		}
		err := d.read(ctx, c)
		return d.found, err
	})
}

// dueRuns collects the earliest runs of several partitions. It reads each partition's index
// separately, in rounds: first up to its share of the limit, then further where a partition
// has more of the earliest runs than its share. A page therefore costs what it holds, not
// what all partitions hold.
type dueRuns struct {
	limit int
	until int64
	found []store.Wake // by time
	open  []reached    // partitions that may have more
}

// reached is the wake time up to which a partition was read.
type reached struct {
	place int
	wake  int64
}

func (d *dueRuns) read(ctx context.Context, c *conn) error {
	share := atMost(d.limit)
	if d.limit > 0 {
		share = int64(2*d.limit/len(d.open) + firstRound)
	}
	for len(d.open) > 0 {
		if err := d.round(ctx, c, share); err != nil {
			return err
		}
		slices.SortStableFunc(d.found, func(a, b store.Wake) int { return cmp.Compare(a.Time, b.Time) })
		if d.limit > 0 && len(d.found) >= d.limit {
			d.until = d.found[d.limit-1].Time // nothing later is among the earliest
		}
		d.open = slices.DeleteFunc(d.open, func(r reached) bool { return r.wake >= d.until })
		share *= 4
	}
	if d.limit > 0 { // runs with the same last time are listed too
		d.found = slices.DeleteFunc(d.found, func(w store.Wake) bool { return w.Time > d.until })
	}
	return nil
}

// round reads share more runs of each open partition, and closes the partitions that have
// no more.
func (d *dueRuns) round(ctx context.Context, c *conn, share int64) error {
	counts, last := map[int]int64{}, map[int]int64{}
	add := func(r pgx.Rows) error {
		var w store.Wake
		err := r.Scan(&w.Partition, (*inWard)(&w.Partition), (*runID)(&w.Run), &w.Time)
		d.found = append(d.found, w)
		counts[w.Partition]++
		last[w.Partition] = w.Time
		return err
	}
	if c.h.distributed {
		err := c.send(ctx, func(b *batch) { b.dueOfPlaces(d, share, add) })
		d.narrow(counts, last, share)
		return err
	}
	err := c.query(ctx, `SELECT p.id, p.ward, r.id, r.wake FROM unnest($1::bigint[], $5::bigint[], $2::bigint[]) AS p (id, ward, after), LATERAL (
			SELECT id, wake FROM perdure.runs WHERE partition = p.id AND ward = p.ward AND wake > p.after AND wake <= $3 ORDER BY wake FETCH FIRST ($4) ROWS WITH TIES) r`,
		[]any{
			column(len(d.open), func(i int) int { p, _ := store.SplitPlace(d.open[i].place); return p }),
			column(len(d.open), func(i int) int64 { return d.open[i].wake }),
			d.until, share,
			column(len(d.open), func(i int) int { _, w := store.SplitPlace(d.open[i].place); return w }),
		}, add)
	d.narrow(counts, last, share)
	return err
}

// dueOfPlaces is round for a distributed database: the reads of several partitions are one
// query, of which each shard answers its part.
func (b *batch) dueOfPlaces(d *dueRuns, share int64, add func(r pgx.Rows) error) {
	type from struct {
		ward int
		wake int64
	}
	together := map[from][]int{}
	for _, r := range d.open {
		p, ward := store.SplitPlace(r.place)
		together[from{ward, r.wake}] = append(together[from{ward, r.wake}], p)
	}
	for f, partitions := range together {
		b.query(`SELECT p.partition, r.ward, r.id, r.wake FROM perdure.places p, LATERAL (
				SELECT ward, id, wake FROM perdure.runs WHERE p.partition = runs.partition AND ward = $5 AND wake > $2 AND wake <= $3 ORDER BY wake FETCH FIRST ($4) ROWS WITH TIES) r
			WHERE p.partition = ANY ($1::bigint[])`, []any{partitions, f.wake, d.until, share, f.ward}, add)
	}
}

// narrow keeps those partitions open that returned as many runs as were asked for.
func (d *dueRuns) narrow(counts, last map[int]int64, share int64) {
	var more []reached
	for _, r := range d.open {
		if counts[r.place] >= share {
			more = append(more, reached{r.place, last[r.place]})
		}
	}
	d.open = more
}
