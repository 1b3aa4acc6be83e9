package sqlite

import (
	"context"
	"database/sql/driver"

	"github.com/perdure/perdure/store"
)

func (h *handle) Counts(ctx context.Context, partitions []int, most int) (store.Counts, error) {
	counts := store.Counts{Runs: map[store.Status]int{}, Calls: map[store.CallState]int{}}
	err := h.eachPartition(ctx, "Counts", partitions, partitions == nil, func(c *conn, partition int) error {
		n := counter{ctx: ctx, c: c, partition: int64(partition), most: most}
		n.runs(counts.Runs)
		n.calls(&counts)
		return n.err
	})
	counts.Bound(most)
	return counts, err
}

// counter counts rows of a partition. After an error it does nothing.
type counter struct {
	ctx       context.Context
	c         *conn
	partition int64
	most      int // of each count; 0: no limit
	err       error
}

// unbounded counts all that a query selects.
const unbounded = -1

// rows counts the rows that a query selects, up to a number beyond most.
func (n *counter) rows(beyond int, query string, args ...driver.Value) (count int) {
	limit := int64(unbounded)
	if n.most > 0 && beyond != unbounded {
		limit = int64(n.most + beyond)
	}
	if n.err == nil {
		n.err = n.c.query(n.ctx, `SELECT count(*) FROM (`+query+` LIMIT ?)`, func(r row) error {
			count = int(r.int(0))
			return nil
		}, append(append([]driver.Value{n.partition}, args...), limit)...)
	}
	return count
}

// runs adds how many runs are in each status. Completed runs are counted as those that are
// neither in the index by status nor at work.
func (n *counter) runs(runs map[store.Status]int) {
	others := 0
	for _, status := range append(store.Statuses(), store.Standing) {
		if status == store.Completed {
			continue
		}
		beyond := 0
		if status == store.Standing { // is not in the result, so nobody would see that there are more
			beyond = unbounded
		}
		count := n.rows(beyond, `SELECT 1 FROM runs WHERE partition = ? AND status = ? AND status <> 'completed' AND (status <> 'running' OR wake IS NOT 0)`, string(status))
		if status == store.Running {
			count += n.rows(0, `SELECT 1 FROM runs WHERE partition = ? AND wake = 0 AND status = 'running'`)
		}
		if others += count; status != store.Standing && count > 0 {
			runs[status] += count
		}
	}
	if all := n.rows(others, `SELECT 1 FROM runs WHERE partition = ?`); all > others {
		runs[store.Completed] += all - others
	}
}

// calls adds how many calls are in each state, and when the next retry is due.
func (n *counter) calls(counts *store.Counts) {
	for _, state := range store.CallStates() {
		if count := n.rows(0, `SELECT 1 FROM calls WHERE partition = ? AND state = ?`, string(state)); count > 0 {
			counts.Calls[state] += count
		}
	}
	if n.err == nil {
		n.err = n.c.query(n.ctx, `SELECT state, number - first FROM calls WHERE partition = ? AND first <> 0`, func(r row) error {
			if state := store.CallState(r.text(0)); counts.Calls[state] > 0 { // not of an entity
				counts.Calls[state] += int(r.int(1))
			}
			return nil
		}, n.partition)
	}
	if n.err == nil {
		n.err = n.c.query(n.ctx, `SELECT due FROM calls WHERE partition = ? AND state = ? AND due > 0 ORDER BY due LIMIT 1`, func(r row) error {
			if due := r.int(0); counts.NextRetry == 0 || due < counts.NextRetry {
				counts.NextRetry = due
			}
			return nil
		}, n.partition, string(store.Backoff))
	}
}
