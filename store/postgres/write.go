package postgres

import (
	"github.com/perdure/perdure/store"
)

// The statements here write the parts of many turns together; each takes one array per
// column. On a distributed database the turns are of one partition. No two turns may
// concern the same run, so their order does not matter. A statement fails if a row is not
// as a plain turn expects it. Statements without rows are omitted.

// write adds everything that the turns write. Tasks come before consumed messages, in the
// order of SettleTasks: it locks a task first too, and then delivers a message whose key
// may be that of a message consumed here.
func (b *batch) write(turns []*store.Turn) {
	b.byPartition(turns, b.writeRows)
	b.writeTasks(turns)
	b.byPartition(turns, b.finishRows)
	b.deliver(turns)
}

// writeRows adds what the turns write in their partitions before tasks are locked.
func (b *batch) writeRows(turns []*store.Turn) {
	b.insertRuns(turns, func(t *store.Turn) bool { return t.Create.ID == t.Run })
	b.updateStates(turns)
	b.demandRuns(turns)
	b.changeAttributes(turns)
	b.insertSuccessors(turns)
	b.insertTurns(turns)
	b.writeCalls(turns)
}

// finishRows adds the rest of what the turns write in their partitions.
func (b *batch) finishRows(turns []*store.Turn) {
	b.removeRuns(turns)
	b.writeAttempts(turns)
	b.count(turns)
	b.consume(turns)
}

// insertRuns inserts the chosen runs that the turns create. A turn's own run is inserted in
// the state that the turn gives it.
func (b *batch) insertRuns(turns []*store.Turn, chosen func(t *store.Turn) bool) {
	var runs []*store.Run
	var states []*store.RunState
	var wards []int64
	for _, t := range turns {
		if t.Create == nil || !chosen(t) {
			continue
		}
		state := &t.Create.RunState
		if t.State != nil && t.Create.ID == t.Run {
			state = t.State
		}
		ward := t.Ward
		if !state.Status.Open() {
			ward = 0
		}
		if ward != 0 {
			b.shareWards(t.Partition)
		}
		runs, states, wards = append(runs, t.Create), append(states, state), append(wards, int64(ward))
	}
	if n := len(runs); n > 0 {
		b.put(intoRuns,
			column(n, func(i int) int64 { return int64(runs[i].Partition) }),
			runColumn(n, func(i int) string { return runs[i].ID }),
			column(n, func(i int) string { return runs[i].WorkflowID }),
			column(n, func(i int) string { return runs[i].Type }),
			column(n, func(i int) string { return runs[i].Group }),
			runColumn(n, func(i int) string { return runs[i].Chain }),
			column(n, func(i int) int64 { return int64(runs[i].Attempt) }),
			column(n, func(i int) int64 { return runs[i].Created }),
			column(n, func(i int) string { return payload(runs[i].Start) }),
			column(n, func(i int) string { return string(states[i].Status) }),
			column(n, func(i int) *int64 { return orNull(states[i].Wake) }),
			column(n, func(i int) int64 { return states[i].Closed }),
			column(n, func(i int) string { return payload(states[i].Detail) }),
			column(n, func(i int) int64 { return int64(runs[i].Priority) }),
			column(n, func(i int) bool { return states[i].Full }),
			column(n, func(i int) int64 { return wards[i] }),
			column(n, func(i int) string { return runs[i].Key }),
			column(n, func(i int) int64 { return int64(runs[i].Weight) }))
	}
	b.insertAttributes(runs)
	b.insertBases(runs)
}

var intoRuns = insertion("runs", "id, workflow_id, type, node_group, chain, attempt, created, start, status, wake, closed, detail, priority, is_full, ward, run_key, weight",
	"bytea, text, text, text, bytea, bigint, bigint, text, text, bigint, bigint, text, bigint, boolean, bigint, text, bigint", "")

// orNull returns the stored form of a wake time.
func orNull(wake int64) *int64 {
	if wake == store.Never {
		return nil
	}
	return &wake
}

var intoAttributes = insertion("attributes", "name, value, run", "text, text, bytea", "ON CONFLICT DO NOTHING")

// insertAttributes inserts attributes of runs that have none.
func (b *batch) insertAttributes(runs []*store.Run) {
	var partitions []int64
	var ids runIDs
	var names, values []string
	for _, r := range runs {
		for _, a := range r.Attributes {
			partitions, ids = append(partitions, int64(r.Partition)), append(ids, r.ID)
			names, values = append(names, a.Name), append(values, a.Value)
		}
	}
	if len(ids) > 0 {
		b.put(intoAttributes, partitions, names, values, ids)
	}
}

var deleteAttributes = forms(`DELETE FROM perdure.attributes a USING unnest($1::bigint[], $2::bytea[]) AS t (partition, run)
		WHERE a.partition =@ t.partition AND a.run = t.run`)

// changeAttributes replaces the attributes of runs. It does not check that a run exists:
// other statements do.
func (b *batch) changeAttributes(turns []*store.Turn) {
	turns = selected(turns, func(t *store.Turn) bool { return t.Attributes != nil })
	if len(turns) == 0 {
		return
	}
	b.put(deleteAttributes, partitions(turns), runs(turns))
	var changed []*store.Run
	for _, t := range turns {
		changed = append(changed, &store.Run{Partition: t.Partition, ID: t.Run, Attributes: *t.Attributes})
	}
	b.insertAttributes(changed)
}

var changeStates = forms(`WITH changed AS (UPDATE perdure.runs r SET status = s.status, wake = nullif(s.wake, 9223372036854775807), closed = s.closed, detail = s.detail, is_full = s.is_full,
				ward = CASE WHEN s.open THEN r.ward ELSE 0 END
			FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::boolean[], $9::boolean[]) AS s (partition, run, status, wake, closed, detail, is_full, open)
			WHERE r.partition =@ s.partition AND r.id = s.run RETURNING 1)
		SELECT CASE WHEN count(*) <> $8 THEN perdure.refuse('` + unheardOf + `', 'a run does not exist') END FROM changed`)

// updateStates writes the new states of existing runs.
func (b *batch) updateStates(turns []*store.Turn) {
	turns = selected(turns, func(t *store.Turn) bool { return t.State != nil && !t.CreatesItsRun() })
	n := len(turns)
	if n == 0 {
		return
	}
	b.put(changeStates, partitions(turns), runs(turns),
		column(n, func(i int) string { return string(turns[i].State.Status) }),
		column(n, func(i int) int64 { return turns[i].State.Wake }),
		column(n, func(i int) int64 { return turns[i].State.Closed }),
		column(n, func(i int) string { return payload(turns[i].State.Detail) }),
		column(n, func(i int) bool { return turns[i].State.Full }), n,
		column(n, func(i int) bool { return turns[i].State.Status.Open() }))
}

var demand = forms(`SELECT CASE WHEN count(*) <> $3 THEN perdure.refuse('` + unheardOf + `', 'a run does not exist') END
			FROM unnest($1::bigint[], $2::bytea[]) AS t (partition, run) JOIN perdure.runs r ON r.partition =@ t.partition AND r.id = t.run`)

// demandRuns fails unless the runs exist that no other statement checks. On one server
// insertTurns checks the runs whose history grows.
func (b *batch) demandRuns(turns []*store.Turn) {
	turns = selected(turns, func(t *store.Turn) bool {
		return t.NeedsRun() && t.State == nil && !t.CreatesItsRun() && (t.Number == 0 || b.h.distributed)
	})
	if len(turns) > 0 {
		b.put(demand, partitions(turns), runs(turns), len(turns))
	}
}

// insertSuccessors inserts the runs that follow those that the turns close.
func (b *batch) insertSuccessors(turns []*store.Turn) {
	turns = selected(turns, func(t *store.Turn) bool { return t.Create != nil && !t.CreatesItsRun() })
	closing := selected(turns, func(t *store.Turn) bool { return t.State != nil && !t.State.Status.Open() })
	if n := len(closing); n > 0 {
		b.follow(closing, runs(closing))
	}
	b.insertRuns(turns, func(*store.Turn) bool { return true })
}

var makeRoom = forms(`UPDATE perdure.runs r SET latest = false FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::bytea[], $5::bytea[]) AS s (partition, run, workflow_id, chain, after)
		WHERE r.partition =@ s.partition AND r.id = s.run AND r.workflow_id = s.workflow_id AND (r.chain = s.chain OR r.id = s.after) AND r.latest`)

// follow makes room for the runs that the turns create: the preceding run of the workflow
// ID is no longer the latest, if it belongs to the same chain or is the one that the new
// run names.
func (b *batch) follow(turns []*store.Turn, predecessors runIDs) {
	n := len(turns)
	b.put(makeRoom, partitions(turns),
		predecessors,
		column(n, func(i int) string { return turns[i].Create.WorkflowID }),
		runColumn(n, func(i int) string { return turns[i].Create.Chain }),
		runColumn(n, func(i int) string { return turns[i].Create.After }))
	b.leave(turns)
}

var leaveMessages = forms(`UPDATE perdure.inbox m SET run = s.after, key = s.prefix || m.key FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[]) AS s (partition, workflow_id, after, prefix)
		WHERE m.partition =@ s.partition AND m.workflow_id = s.workflow_id AND m.run = ''`)

// leave keeps messages for the latest run of a workflow ID with the run that was the
// latest, if another chain begins. Their keys are then free (store.LeftKey).
func (b *batch) leave(turns []*store.Turn) {
	turns = selected(turns, func(t *store.Turn) bool { return t.Create.After != "" })
	n := len(turns)
	if n == 0 {
		return
	}
	b.put(leaveMessages, partitions(turns),
		column(n, func(i int) string { return turns[i].Create.WorkflowID }),
		runColumn(n, func(i int) string { return turns[i].Create.After }),
		column(n, func(i int) string { return store.LeftKey(turns[i].Create.After, "") }))
}

var remove = forms(`WITH gone AS (DELETE FROM perdure.runs r USING unnest($1::bigint[], $2::bytea[]) AS s (partition, run)
			WHERE r.partition =@ s.partition AND r.id = s.run AND r.status = $3 RETURNING r.partition, r.id)
		DELETE FROM perdure.calls c USING gone WHERE c.partition =@ gone.partition AND c.run = gone.id`)

// removeRuns deletes the rows of gates and schedules that no longer exist, and of their
// calls.
func (b *batch) removeRuns(turns []*store.Turn) {
	turns = selected(turns, func(t *store.Turn) bool { return t.Remove })
	if len(turns) == 0 {
		return
	}
	b.put(remove, partitions(turns), runs(turns), string(store.Standing))
}

const turnColumns = "run, number, commit_id, epoch, time, events"

var intoTurns = insertion("turns", turnColumns, "bytea, bigint, bigint, bigint, bigint, text", "")

// intoTurnsOfRuns is intoTurns for one server, and fails unless the runs exist. A statement
// that only checks that takes as long as an insert, and a commit of one turn has few others.
const intoTurnsOfRuns = `WITH added AS (INSERT INTO perdure.turns (partition, ` + turnColumns + `)
			SELECT s.* FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])
				AS s (partition, ` + turnColumns + `)
				JOIN perdure.runs r ON r.partition = s.partition AND r.id = s.run
			RETURNING 1)
		SELECT CASE WHEN count(*) <> cardinality($1) THEN perdure.refuse('` + unheardOf + `', 'a run does not exist') END FROM added`

// insertTurns appends to history.
func (b *batch) insertTurns(turns []*store.Turn) {
	var checked, others []*store.Turn // whether another statement checks that the run exists
	for _, t := range turns {
		switch {
		case t.Number == 0:
		case b.h.distributed || t.State != nil || t.CreatesItsRun():
			checked = append(checked, t)
		default:
			others = append(others, t)
		}
	}
	if len(checked) > 0 {
		b.put(intoTurns, turnRows(checked)...)
	}
	if len(others) > 0 {
		b.do(intoTurnsOfRuns, turnRows(others)...)
	}
}

// turnRows returns the columns of the rows of turns.
func turnRows(turns []*store.Turn) []any {
	n := len(turns)
	return []any{partitions(turns), runs(turns),
		column(n, func(i int) int64 { return turns[i].Number }),
		column(n, func(i int) int64 { return turns[i].CommitID }),
		column(n, func(i int) int64 { return turns[i].Epoch }),
		column(n, func(i int) int64 { return turns[i].Time }),
		column(n, func(i int) string { return payload(turns[i].Events) })}
}
