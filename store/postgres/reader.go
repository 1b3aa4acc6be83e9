package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

func (h *handle) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	query, args, err := h.findQuery(partition, workflowID, run)
	if err != nil {
		return nil, err
	}
	var found *store.Run
	err = h.share(ctx, "Find", func(c *conn) error {
		found = nil
		return c.query(ctx, query, args, scanInto(&found))
	})
	return foundRun(found, err)
}

// findQuery returns the query for a run by its ID, or for the latest run of a workflow ID.
func (h *handle) findQuery(partition int, workflowID, run string) (string, []any, error) {
	if err := h.info.Check(partition); err != nil {
		return "", nil, err
	}
	query, key := `SELECT `+runColumnsOf1+` FROM perdure.runs WHERE partition = $1 AND id = $2`, any(runID(run))
	if run == "" {
		query, key = `SELECT `+runColumnsOf1+` FROM perdure.runs WHERE partition = $1 AND workflow_id = $2 AND latest`, workflowID
	}
	if !isText(cmp.Or(run, workflowID)) {
		return "", nil, store.ErrNotFound
	}
	return query, []any{partition, key}, nil
}

func scanInto(found **store.Run) func(r pgx.Rows) error {
	return func(r pgx.Rows) (err error) {
		*found, err = scanRun(r)
		return err
	}
}

func foundRun(found *store.Run, err error) (*store.Run, error) {
	if err == nil && found == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

const (
	selectEnded = `SELECT ` + runColumns + ` FROM (SELECT DISTINCT w.place, w.run FROM unnest($1::bigint[], $2::bytea[]) AS w (place, run)) w
			JOIN perdure.runs ON partition = w.place AND id = w.run WHERE NOT status = ANY ($3::text[])`
	selectEndedOf = `SELECT ` + runColumns + ` FROM perdure.runs WHERE partition = ANY ($1::bigint[]) AND id = ANY ($2::bytea[]) AND NOT status = ANY ($3::text[])`
)

func (h *handle) Ended(ctx context.Context, runs []store.RunRef) ([]store.Run, error) {
	for _, r := range runs {
		if err := h.info.Check(r.Partition); err != nil {
			return nil, err
		}
	}
	runs = slices.DeleteFunc(slices.Clone(runs), func(r store.RunRef) bool { return !isText(r.Run) })
	if len(runs) == 0 {
		return nil, nil
	}
	var ended []store.Run
	err := h.share(ctx, "Ended", func(c *conn) error {
		ended = nil
		query := selectEnded
		if h.distributed {
			query = selectEndedOf
		}
		return c.query(ctx, query,
			[]any{
				column(len(runs), func(i int) int64 { return int64(runs[i].Partition) }),
				runColumn(len(runs), func(i int) string { return runs[i].Run }),
				open,
			}, func(r pgx.Rows) error {
				run, err := scanRun(r)
				if !h.distributed || slices.Contains(runs, store.RunRef{Partition: run.Partition, Run: run.ID}) {
					ended = append(ended, *run)
				}
				return err
			})
	})
	return ended, err
}

const selectTurns = `SELECT number, commit_id, epoch, time, events FROM perdure.turns
	WHERE partition = $1 AND run = $2 AND number > $3 ORDER BY number LIMIT $4`

func appendTurn(list []store.TurnRow, r pgx.Rows) ([]store.TurnRow, error) {
	var t store.TurnRow
	err := r.Scan(&t.Number, &t.CommitID, &t.Epoch, &t.Time, (*opaque)(&t.Events))
	return append(list, t), err
}

func (h *handle) History(ctx context.Context, partition int, run string, after int64, limit int) ([]store.TurnRow, error) {
	return readRun(ctx, h, "History", partition, run, selectTurns, appendTurn, after, atMost(limit))
}

// callColumns are the columns that callFields scans.
const callColumns = `c.partition, c.run, c.number, c.first, c.state, c.name, c.queue, c.attempt, c.due, c.data`

func callFields(c *store.Call) []any {
	return []any{&c.Partition, (*runID)(&c.Run), &c.Number, &c.First, &c.State, &c.Name, &c.Queue, &c.Attempt, &c.Due, (*opaque)(&c.Data)}
}

const selectCalls = `SELECT ` + callColumns + ` FROM perdure.calls c
	WHERE partition = $1 AND run = $2 ORDER BY number`

func appendCall(list []store.Call, r pgx.Rows) ([]store.Call, error) {
	var c store.Call
	err := r.Scan(callFields(&c)...)
	return append(list, c), err
}

// selectWaiting takes at most the limit from the beginning of each partition's index ($1:
// all partitions, or those of $2).
const selectWaiting = `WITH waiting AS (SELECT c.* FROM (SELECT id FROM perdure.partitions WHERE $1 OR id = ANY ($2::bigint[])) p, LATERAL (
		SELECT * FROM perdure.calls c WHERE c.partition = p.id AND c.state = $3 ORDER BY c.due LIMIT $4) c ORDER BY c.due LIMIT $4)
	SELECT ` + callColumns + `, r.workflow_id, r.type, r.run_key FROM waiting c, LATERAL (
		SELECT workflow_id, type, run_key FROM perdure.runs r WHERE r.partition = c.partition AND r.id = c.run LIMIT 1) r ORDER BY c.due`

// selectWaitingOf is selectWaiting for one partition.
const selectWaitingOf = `SELECT ` + callColumns + `, r.workflow_id, r.type, r.run_key
	FROM (SELECT * FROM perdure.calls WHERE partition = $1 AND state = $2 ORDER BY due LIMIT $3) c
	JOIN perdure.runs r ON r.partition = $1 AND r.id = c.run ORDER BY c.due`

func (h *handle) Waiting(ctx context.Context, filter store.CallFilter) ([]store.WaitingCall, error) {
	partitions, err := h.info.Ordered(filter.Partitions)
	if err != nil || !isText(string(filter.State)) {
		return nil, err
	}
	filter.Limit = store.Page(filter.Limit)
	var waiting []store.WaitingCall
	err = h.share(ctx, "Waiting", func(c *conn) error {
		waiting = nil
		add := func(r pgx.Rows) error {
			var w store.WaitingCall
			err := r.Scan(append(callFields(&w.Call), &w.WorkflowID, &w.Type, &w.Key)...)
			waiting = append(waiting, w)
			return err
		}
		if h.distributed {
			err := c.eachPartition(ctx, filter.Partitions == nil, partitions, selectWaitingOf, []any{filter.State, filter.Limit}, add)
			waiting = newest(waiting, filter.Limit, func(a, b store.WaitingCall) int { return cmp.Compare(a.Due, b.Due) })
			return err
		}
		args := []any{filter.Partitions == nil, partitions, filter.State, filter.Limit}
		return c.query(ctx, selectWaiting, args, add)
	})
	return waiting, err
}

func (h *handle) Calls(ctx context.Context, partition int, run string) ([]store.Call, error) {
	return readRun(ctx, h, "Calls", partition, run, selectCalls, appendCall)
}

// readRun reads rows that belong to a run.
func readRun[T any](ctx context.Context, h *handle, op string, partition int, run, query string, add func([]T, pgx.Rows) ([]T, error), args ...any) ([]T, error) {
	if err := h.info.Check(partition); err != nil {
		return nil, err
	}
	if !isText(run) {
		return nil, nil // no run has such an ID
	}
	var list []T
	err := h.share(ctx, op, func(c *conn) error {
		list = nil
		return c.query(ctx, query, append([]any{partition, runID(run)}, args...), func(r pgx.Rows) (err error) {
			list, err = add(list, r)
			return err
		})
	})
	return list, err
}
