package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/store"
)

func (h *handle) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	query, args, err := h.findQuery(partition, workflowID, run)
	if err != nil {
		return nil, err
	}
	found, err := readRows(ctx, h, "Find", query, args, runFields)
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

// foundRun returns the run that findQuery found, if there is one.
func foundRun(found []store.Run, err error) (*store.Run, error) {
	if err == nil && len(found) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return &found[0], nil
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
	query := selectEnded
	if h.distributed {
		query = selectEndedOf
	}
	ended, err := readRows(ctx, h, "Ended", query, []any{
		column(len(runs), func(i int) int64 { return int64(runs[i].Partition) }),
		runColumn(len(runs), func(i int) string { return runs[i].Run }),
		open,
	}, runFields)
	if h.distributed {
		ended = slices.DeleteFunc(ended, func(r store.Run) bool {
			return !slices.Contains(runs, store.RunRef{Partition: r.Partition, Run: r.ID})
		})
	}
	return ended, err
}

const selectTurns = `SELECT number, commit_id, epoch, time, events FROM perdure.turns
	WHERE partition = $1 AND run = $2 AND number > $3 ORDER BY number LIMIT $4`

func turnFields(t *store.TurnRow) []any {
	return []any{&t.Number, &t.CommitID, &t.Epoch, &t.Time, (*opaque)(&t.Events)}
}

func (h *handle) History(ctx context.Context, partition int, run string, after int64, limit int) ([]store.TurnRow, error) {
	return readRun(ctx, h, "History", partition, run, selectTurns, turnFields, after, atMost(limit))
}

// callColumns are the columns of callFields.
const callColumns = `c.partition, c.run, c.number, c.first, c.state, c.name, c.queue, c.attempt, c.due, c.data`

func callFields(c *store.Call) []any {
	return []any{&c.Partition, (*runID)(&c.Run), &c.Number, &c.First, &c.State, &c.Name, &c.Queue, &c.Attempt, &c.Due, (*opaque)(&c.Data)}
}

const selectCalls = `SELECT ` + callColumns + ` FROM perdure.calls c
	WHERE partition = $1 AND run = $2 ORDER BY number`

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
	fields := func(w *store.WaitingCall) []any { return append(callFields(&w.Call), &w.WorkflowID, &w.Type, &w.Key) }
	if !h.distributed {
		return readRows(ctx, h, "Waiting", selectWaiting, []any{filter.Partitions == nil, partitions, filter.State, filter.Limit}, fields)
	}
	return shared(ctx, h, "Waiting", func(c *conn) (waiting []store.WaitingCall, err error) {
		err = c.eachPartition(ctx, filter.Partitions == nil, partitions, selectWaitingOf, []any{filter.State, filter.Limit}, into(&waiting, fields))
		return newest(waiting, filter.Limit, func(a, b store.WaitingCall) int { return cmp.Compare(a.Due, b.Due) }), err
	})
}

func (h *handle) Calls(ctx context.Context, partition int, run string) ([]store.Call, error) {
	return readRun(ctx, h, "Calls", partition, run, selectCalls, callFields)
}

// readRun reads rows that belong to a run.
func readRun[T any](ctx context.Context, h *handle, op string, partition int, run, query string, fields func(*T) []any, args ...any) ([]T, error) {
	if err := h.info.Check(partition); err != nil {
		return nil, err
	}
	if !isText(run) {
		return nil, nil // no run has such an ID
	}
	return readRows(ctx, h, op, query, append([]any{partition, runID(run)}, args...), fields)
}
