package sqlite

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/perdure/perdure/store"
)

func (b *batch) applyAttempt(partition int64, run string, a *store.Attempt) error {
	_, err := b.c.exec(`INSERT INTO attempts (partition, run, call, number, name, outcome, error_type, reason, started, ended, data)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		partition, run, a.Call, int64(a.Number), a.Name, a.Outcome, a.ErrorType, a.Reason, a.Started, a.Ended, payload(a.Data))
	if err != nil || a.Prune == 0 {
		return err
	}
	_, err = b.c.exec(`DELETE FROM attempts WHERE partition = ? AND run = ? AND call = ? AND number = ?`, partition, run, a.Call, int64(a.Prune))
	return err
}

// attemptColumns are the columns that scanAttempt reads.
const attemptColumns = `run, call, number, name, outcome, error_type, reason, started, ended, data`

func scanAttempt(partition int, r row) store.Attempt {
	a := store.Attempt{Partition: partition}
	r.scan(&a.Run, &a.Call, &a.Number, &a.Name, &a.Outcome, &a.ErrorType, &a.Reason, &a.Started, &a.Ended, &a.Data)
	return a
}

func (h *handle) Attempts(ctx context.Context, partition int, run string, part store.AttemptRange) ([]store.Attempt, error) {
	q := conditions{args: []driver.Value{int64(partition), run}}
	if part.Call > 0 {
		q.add("call = ?", part.Call)
	}
	if part.After != (store.AttemptKey{}) {
		q.add("(call, number) > (?, ?)", part.After.Call, int64(part.After.Number))
	}
	if part.Latest {
		q.add(latestOfCall)
	}
	return ofPartition(ctx, h, "Attempts", partition, func(c *conn) ([]store.Attempt, error) {
		return collect(ctx, c, func(r row) store.Attempt { return scanAttempt(partition, r) },
			`SELECT `+attemptColumns+` FROM attempts a WHERE partition = ? AND run = ?`+q.where+` ORDER BY call, number LIMIT ?`, append(q.args, all(part.Limit))...)
	})
}

// latestOfCall is true for the last record of a call; a is the record.
const latestOfCall = `number = (SELECT max(number) FROM attempts l WHERE l.partition = a.partition AND l.run = a.run AND l.call = a.call)`

// typeOfRun is the workflow name of the run to which a record belongs.
const typeOfRun = `(SELECT type FROM runs WHERE partition = a.partition AND id = a.run)`

// conditions is the WHERE clause of a query. The records of the ledger are a.
type conditions struct {
	from  string // the table, of those that selected returns
	where string
	args  []driver.Value
}

func (q *conditions) add(condition string, values ...driver.Value) {
	q.where, q.args = q.where+" AND "+condition, append(q.args, values...)
}

func (q *conditions) equal(column, value string) {
	if value != "" {
		q.add(column+" = ?", value)
	}
}

// selected returns the conditions for the records of a partition.
func selected(f *store.LedgerFilter, partition int) *conditions {
	until := f.Until
	if until == 0 {
		until = store.Never
	}
	q := &conditions{from: "attempts a", where: "partition = ? AND ended >= ? AND ended < ?", args: []driver.Value{int64(partition), f.From, until}}
	q.equal("name", f.Name)
	q.equal("error_type", f.ErrorType)
	switch {
	case f.Outcome == store.OutcomeLost:
		q.add("outcome = '" + store.OutcomeLost + "'") // which has an index
	case f.Name != "": // else all are read for a name that has few
		q.from += " INDEXED BY attempts_name"
		fallthrough
	default:
		q.equal("outcome", f.Outcome)
	}
	q.equal("reason", f.Reason)
	q.equal(typeOfRun, f.Type)
	for _, has := range f.Attributes {
		q.add("EXISTS (SELECT 1 FROM attributes h WHERE h.partition = a.partition AND h.run = a.run AND h.name = ? AND h.value = ?)", has.Name, has.Value)
	}
	return q
}

func (h *handle) Ledger(ctx context.Context, filter store.LedgerFilter) ([]store.LedgerEntry, error) {
	filter.Limit = store.Page(filter.Limit)
	entries, err := ofPartitions(ctx, h, "Ledger", filter.Partitions, filter.Partitions == nil, func(c *conn, partition int) ([]store.LedgerEntry, error) {
		return c.ledger(ctx, &filter, partition)
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(entries, func(a, b store.LedgerEntry) int { return b.Key().Compare(a.Key()) })
	return entries[:min(filter.Limit, len(entries))], nil
}

// ledger returns the matching records of a partition, latest first.
func (c *conn) ledger(ctx context.Context, f *store.LedgerFilter, partition int) ([]store.LedgerEntry, error) {
	q := selected(f, partition)
	if f.Latest {
		q.add(latestOfCall)
	}
	if f.Above > 0 {
		q.add("number > ?", int64(f.Above))
	}
	if k := f.Before; k != nil {
		q.add("(ended, run, call, number) < (?, ?, ?, ?)", k.Ended, k.Run, k.Call, int64(k.Number))
	}
	return c.entries(ctx, q, partition, f.Limit)
}

// entries reads the index of a partition from its latest end and stops at the limit.
func (c *conn) entries(ctx context.Context, q *conditions, partition, limit int) ([]store.LedgerEntry, error) {
	scan := func(r row) store.LedgerEntry {
		return store.LedgerEntry{Attempt: scanAttempt(partition, r), WorkflowID: r.text(10), Type: r.text(11)}
	}
	return collect(ctx, c, scan, `SELECT `+attemptColumns+`, (SELECT workflow_id FROM runs WHERE partition = a.partition AND id = a.run), `+typeOfRun+`
		FROM `+q.from+` WHERE `+q.where+` ORDER BY ended DESC, run DESC, call DESC, number DESC LIMIT ?`, append(q.args, int64(limit))...)
}

func (h *handle) Errors(ctx context.Context, filter store.LedgerFilter) ([]store.ErrorGroup, error) {
	if filter.Limit > 0 {
		ended, err := ofPartitions(ctx, h, "Errors", filter.Partitions, filter.Partitions == nil, func(c *conn, partition int) ([]int64, error) {
			q := selected(&filter, partition)
			q.add("error_type <> ''")
			return collect(ctx, c, func(r row) int64 { return r.int(0) }, `SELECT ended FROM `+q.from+` WHERE `+q.where+` ORDER BY ended DESC LIMIT ?`,
				append(q.args, int64(filter.Limit))...)
		})
		if err != nil || len(ended) == 0 {
			return nil, err
		}
		filter.From = store.FromLatest(filter.Limit, ended, filter.From)
	}
	groups, err := ofPartitions(ctx, h, "Errors", filter.Partitions, filter.Partitions == nil, func(c *conn, partition int) ([]store.ErrorGroup, error) {
		return c.errors(ctx, &filter, partition)
	})
	if err != nil {
		return nil, err
	}
	return store.MergeErrors(groups), nil
}

// errorGroups is the beginning of the query that groups failed attempts first by call and
// then by error.
const errorGroups = `SELECT name, error_type, sum(n), count(*), sum(ending = '` + store.OutcomeCompleted + `'), min(first), max(last)
	FROM (SELECT name, error_type, count(*) AS n, min(ended) AS first, max(ended) AS last,
		(SELECT outcome FROM attempts l WHERE l.partition = a.partition AND l.run = a.run AND l.call = a.call ORDER BY number DESC LIMIT 1) AS ending
		FROM `

func (c *conn) errors(ctx context.Context, f *store.LedgerFilter, partition int) ([]store.ErrorGroup, error) {
	q := selected(f, partition)
	q.add("error_type <> ''")
	scan := func(r row) (g store.ErrorGroup) {
		r.scan(&g.Name, &g.ErrorType, &g.Attempts, &g.Calls, &g.Recovered, &g.First, &g.Last)
		return g
	}
	groups, err := collect(ctx, c, scan, errorGroups+q.from+` WHERE `+q.where+` GROUP BY name, error_type, run, call) GROUP BY name, error_type`, q.args...)
	if err != nil {
		return nil, err
	}
	for i := range groups {
		g := &groups[i]
		latest := *f
		latest.From, latest.Until = g.Last, g.Last+1
		q := selected(&latest, partition)
		q.add("name = ? AND error_type = ?", g.Name, g.ErrorType) // an empty name matches any name in a filter, and none here
		examples, err := c.entries(ctx, q, partition, 1)
		if err != nil {
			return nil, err
		}
		if len(examples) > 0 {
			g.Example = examples[0]
		}
	}
	return groups, nil
}

const tallyColumns = `partition, bucket, type, name, took, ` + store.TallyCounts

var sumsOfTallies = "sum(" + strings.ReplaceAll(store.TallyCounts, ", ", "), sum(") + ")"

var countTally = func() string {
	var adds []string
	for _, n := range strings.Split(store.TallyCounts, ", ") {
		adds = append(adds, n+" = "+n+" + excluded."+n)
	}
	return `INSERT INTO tallies (` + tallyColumns + `) VALUES (?, ?, ?, ?, ?` + strings.Repeat(", ?", len(adds)) + `)
		ON CONFLICT (partition, bucket, type, name, took) DO UPDATE SET ` + strings.Join(adds, ", ")
}()

// count adds the tallies of turns to the counters, each counter once: turns of one moment
// mostly count the same.
func (b *batch) count(turns ...int) error {
	for _, sum := range store.AddUp(func(yield func(store.TallyKey, *store.Tally) bool) {
		for _, i := range turns {
			for j := range b.turns[i].Tallies {
				t := &b.turns[i].Tallies[j]
				key := t.TallyKey
				if key.Partition = b.turns[i].Partition; !yield(key, t) {
					return
				}
			}
		}
	}) {
		if err := b.c.count(&sum); err != nil {
			return err
		}
	}
	return nil
}

// count adds to a counter.
func (c *conn) count(t *store.Tally) error {
	args := []driver.Value{int64(t.Partition), t.Bucket, t.Type, t.Name, t.Took}
	for _, n := range t.Counts() {
		args = append(args, *n)
	}
	_, err := c.exec(countTally, args...)
	return err
}

// scanTally reads tallyColumns.
func scanTally(r row) (t store.Tally) {
	r.scan(&t.Partition, &t.Bucket, &t.Type, &t.Name, &t.Took)
	for i, n := range t.Counts() {
		*n = r.int(5 + i)
	}
	return t
}

func (h *handle) Tallies(ctx context.Context, filter store.TallyFilter) ([]store.Tally, error) {
	until := filter.Until
	if until == 0 {
		until = store.Never
	}
	bucket, group := "0", "type, name, took"
	if filter.ByBucket {
		bucket, group = "bucket", "bucket, "+group
	}
	read, err := ofPartitions(ctx, h, "Tallies", filter.Partitions, filter.Partitions == nil, func(c *conn, partition int) ([]store.Tally, error) {
		q := &conditions{where: "partition = ? AND bucket >= ? AND bucket < ?", args: []driver.Value{int64(partition), filter.From, until}}
		q.equal("type", filter.Type)
		q.equal("name", filter.Name)
		return collect(ctx, c, scanTally, `SELECT 0, `+bucket+`, type, name, took, `+sumsOfTallies+` FROM tallies WHERE `+q.where+` GROUP BY `+group, q.args...)
	})
	if err != nil {
		return nil, err
	}
	return store.AddUp(store.Keyed(read, filter.Key)), nil
}
