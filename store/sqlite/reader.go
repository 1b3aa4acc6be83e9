package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/perdure/perdure/store"
)

func (h *handle) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	return ofPartition(ctx, h, "Find", partition, func(c *conn) (*store.Run, error) { return c.findRun(ctx, partition, workflowID, run) })
}

func (h *handle) Ended(ctx context.Context, runs []store.RunRef) ([]store.Run, error) {
	return result(ctx, h, "Ended", func(c *conn) (ended []store.Run, err error) {
		for _, ref := range runs {
			run, err := c.findRun(ctx, ref.Partition, "", ref.Run)
			if err == store.ErrNotFound || err == nil && run.Status.Open() {
				continue
			}
			if err != nil {
				return nil, err
			}
			ended = append(ended, *run)
		}
		return ended, nil
	})
}

func (h *handle) List(ctx context.Context, filter store.Filter) ([]store.Run, error) {
	limit := store.Page(filter.Limit)
	// One query per partition and status (running runs take two): each reads an index from
	// its newest end and stops at the limit, however many runs have that status.
	statuses := slices.Clone(filter.Status)
	slices.Sort(statuses)
	statuses = slices.DeleteFunc(slices.Compact(statuses), func(s store.Status) bool { return s == "" }) // no run has it
	if len(filter.Status) == 0 {
		statuses = []store.Status{""}
	}
	runs, err := ofPartitions(ctx, h, "List", filter.Partitions, filter.Partitions == nil, func(c *conn, partition int) (runs []store.Run, err error) {
		for _, status := range statuses {
			for _, indexed := range indexedAs(status, &filter) {
				some, err := c.list(ctx, &filter, partition, status, indexed, limit)
				if err != nil {
					return nil, err
				}
				runs = append(runs, some...)
			}
		}
		return runs, nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(runs, func(a, b store.Run) int { return strings.Compare(b.ID, a.ID) })
	return runs[:min(limit, len(runs))], nil
}

func (h *handle) Floor(ctx context.Context, partitions []int, before string, each int) (floor string, err error) {
	err = h.eachPartition(ctx, "Floor", partitions, partitions == nil, func(c *conn, partition int) error {
		q := conditions{where: "partition = ?", args: []driver.Value{int64(partition)}}
		if before != "" {
			q.add("id < ?", before)
		}
		return c.query(ctx, `SELECT id FROM runs WHERE `+q.where+` ORDER BY id DESC LIMIT 1 OFFSET ?`, func(r row) error {
			floor = max(floor, r.text(0))
			return nil
		}, append(q.args, int64(max(each, 1)-1))...)
	})
	return floor, err
}

// indexedAs returns conditions that split the runs of a status between them, so that one
// index serves each. The index by status lacks completed runs and those at work (running,
// with wake time 0). The index by wake time has the latter.
func indexedAs(status store.Status, filter *store.Filter) []string {
	switch {
	case status == "" || status == store.Completed || len(filter.Attributes) > 0:
		return []string{"true"}
	case status == store.Running:
		return []string{"status <> 'completed' AND wake IS NOT 0", "wake = 0"}
	}
	return []string{"status <> 'completed' AND status <> 'running'"}
}

// list reads the runs of a partition that a filter selects: of one status if given, and of
// these those in the index.
func (c *conn) list(ctx context.Context, filter *store.Filter, partition int, status store.Status, indexed string, limit int) ([]store.Run, error) {
	from, order := "runs", "id"
	q := conditions{where: "partition = ?", args: []driver.Value{int64(partition)}}
	if status == "" {
		q.add("status <> ?", string(store.Standing))
	} else {
		q.add("status = ?", string(status))
	}
	q.add(indexed)
	q.equal("type", filter.Type)
	if filter.IDPrefix != "" {
		q.add("substr(workflow_id, 1, length(?)) = ?", filter.IDPrefix, filter.IDPrefix)
	}
	if filter.Call != "" {
		q.add("id IN (SELECT run FROM calls WHERE partition = ? AND state = ?)", int64(partition), string(filter.Call))
	}
	switch {
	case filter.ErrorType == "":
	case filter.Above == "" && filter.Before == "": // reads the failed attempts of all runs
		q.add("id IN (SELECT run FROM attempts a WHERE partition = ? AND error_type = ? AND "+latestOfCall+")", int64(partition), filter.ErrorType)
	default: // looks up the attempts of the runs in between by key
		q.add("EXISTS (SELECT 1 FROM attempts a WHERE a.partition = ? AND a.run = id AND a.error_type = ? AND "+latestOfCall+" LIMIT 1)", int64(partition), filter.ErrorType)
	}
	if filter.Before != "" {
		q.add("id < ?", filter.Before)
	}
	if filter.Above != "" {
		q.add("id > ?", filter.Above)
	}
	if !filter.Since.IsZero() {
		q.add("created >= ?", filter.Since.UnixNano())
	}
	if !filter.Until.IsZero() {
		q.add("created < ?", filter.Until.UnixNano())
	}
	for i, a := range filter.Attributes {
		if i > 0 {
			q.add("EXISTS (SELECT 1 FROM attributes a WHERE a.partition = ? AND a.name = ? AND a.value = ? AND a.run = id)", int64(partition), a.Name, a.Value)
			continue
		}
		// Only runs with the first attribute are read, newest first.
		from, order = "(SELECT run AS found FROM attributes WHERE partition = ? AND name = ? AND value = ?) CROSS JOIN runs ON id = found", "found"
		q.args = append([]driver.Value{int64(partition), a.Name, a.Value}, q.args...)
	}
	if len(filter.Attributes) > 0 {
		if filter.Before != "" {
			q.add("found < ?", filter.Before)
		}
		if filter.Above != "" {
			q.add("found > ?", filter.Above)
		}
	}
	var runs []store.Run
	err := c.query(ctx, `SELECT `+runColumns+` FROM `+from+` WHERE `+q.where+` ORDER BY `+order+` DESC LIMIT ?`, func(r row) error {
		run, err := scanRun(r)
		runs = append(runs, run)
		return err
	}, append(q.args, int64(limit))...)
	return runs, err
}

func (h *handle) History(ctx context.Context, partition int, run string, after int64, limit int) ([]store.TurnRow, error) {
	return ofPartition(ctx, h, "History", partition, func(c *conn) ([]store.TurnRow, error) { return c.history(ctx, partition, run, after, limit) })
}

func (c *conn) history(ctx context.Context, partition int, run string, after int64, limit int) ([]store.TurnRow, error) {
	return collect(ctx, c, scanTurn, `SELECT number, commit_id, epoch, time, events FROM turns WHERE run = `+seq+` AND number > ? ORDER BY number LIMIT ?`,
		int64(partition), run, after, all(limit))
}

func scanTurn(r row) (t store.TurnRow) {
	r.scan(&t.Number, &t.CommitID, &t.Epoch, &t.Time, &t.Events)
	return t
}

func (h *handle) Calls(ctx context.Context, partition int, run string) ([]store.Call, error) {
	return ofPartition(ctx, h, "Calls", partition, func(c *conn) ([]store.Call, error) { return c.calls(ctx, partition, run) })
}

// callColumns are the columns that scanCall reads.
const callColumns = `run, number, state, name, queue, attempt, due, data, first`

func scanCall(partition int, r row) store.Call {
	c := store.Call{Partition: partition}
	r.scan(&c.Run, &c.Number, &c.State, &c.Name, &c.Queue, &c.Attempt, &c.Due, &c.Data, &c.First)
	return c
}

func (c *conn) calls(ctx context.Context, partition int, run string) ([]store.Call, error) {
	return collect(ctx, c, func(r row) store.Call { return scanCall(partition, r) },
		`SELECT `+callColumns+` FROM calls WHERE partition = ? AND run = ? ORDER BY number`, int64(partition), run)
}

func (h *handle) Waiting(ctx context.Context, filter store.CallFilter) ([]store.WaitingCall, error) {
	filter.Limit = store.Page(filter.Limit)
	waiting, err := ofPartitions(ctx, h, "Waiting", filter.Partitions, filter.Partitions == nil, func(c *conn, partition int) ([]store.WaitingCall, error) {
		scan := func(r row) store.WaitingCall {
			return store.WaitingCall{Call: scanCall(partition, r), WorkflowID: r.text(9), Type: r.text(10), Key: r.text(11)}
		}
		return collect(ctx, c, scan, `SELECT `+callColumns+`, (SELECT workflow_id FROM runs WHERE partition = c.partition AND id = c.run),
				(SELECT type FROM runs WHERE partition = c.partition AND id = c.run), (SELECT run_key FROM runs WHERE partition = c.partition AND id = c.run)
			FROM calls c WHERE partition = ? AND state = ? ORDER BY due LIMIT ?`, int64(partition), string(filter.State), int64(filter.Limit))
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(waiting, func(a, b store.WaitingCall) int { return cmp.Compare(a.Due, b.Due) })
	return waiting[:min(filter.Limit, len(waiting))], nil
}
