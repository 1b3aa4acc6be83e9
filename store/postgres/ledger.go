package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// attemptColumns are the columns of attemptFields.
const attemptColumns = `a.partition, a.run, a.call, a.number, a.name, a.outcome, a.error_type, a.reason, a.started, a.ended, a.data`

const selectAttempts = `SELECT ` + attemptColumns + ` FROM perdure.attempts a
	WHERE partition = $1 AND run = $2`

func attemptFields(a *store.Attempt) []any {
	return []any{&a.Partition, (*runID)(&a.Run), &a.Call, &a.Number, &a.Name, &a.Outcome, &a.ErrorType, &a.Reason, &a.Started, &a.Ended, (*opaque)(&a.Data)}
}

func (h *handle) Attempts(ctx context.Context, partition int, run string, part store.AttemptRange) ([]store.Attempt, error) {
	query, args := selectAttempts, params{partition, runID(run)}
	if part.Call > 0 {
		query += ` AND a.call = ` + args.add(part.Call)
	}
	if part.After != (store.AttemptKey{}) {
		query += ` AND (a.call, a.number) > (` + args.add(part.After.Call) + `, ` + args.add(part.After.Number) + `)`
	}
	if part.Latest {
		query += ` AND ` + latestOfCall("$1")
	}
	query += ` ORDER BY a.call, a.number`
	if part.Limit > 0 {
		query += ` LIMIT ` + args.add(part.Limit)
	}
	return readRun(ctx, h, "Attempts", partition, run, query, attemptFields, args[2:]...)
}

// endingOfCall is the outcome in the last record of the call of record a in the given
// partition. latestOfCall is true if a is that record. Subqueries of this form use the key,
// whatever statistics the planner has.
func endingOfCall(partition string) string { return lastOfCall("outcome", partition) }

func latestOfCall(partition string) string { return `a.number = ` + lastOfCall("number", partition) }

func lastOfCall(column, partition string) string {
	return `(SELECT l.` + column + ` FROM perdure.attempts l WHERE l.partition = ` + partition + ` AND l.run = a.run AND l.call = a.call ORDER BY l.number DESC LIMIT 1)`
}

// params are the parameters of a statement that is put together.
type params []any

// add adds a parameter and returns its place in the statement.
func (p *params) add(value any) string {
	*p = append(*p, value)
	return fmt.Sprintf("$%d", len(*p))
}

// conditions is the WHERE clause of a filter.
type conditions struct {
	places string // selects the partitions, as p (id), and LATERAL
	home   string // the partition of a row; "$1" in a query for one partition
	where  string
	args   params
	never  bool // no row can match

	all        bool
	partitions []int
}

// among begins conditions with the partitions and a time span.
func among(h *handle, partitions []int, column string, from, until int64) (*conditions, error) {
	q := &conditions{places: `perdure.partitions p, LATERAL`, home: `p.id`, all: partitions == nil}
	if partitions != nil {
		var err error
		if partitions, err = h.info.Ordered(partitions); err != nil {
			return nil, err
		}
		q.partitions = partitions
	}
	switch {
	case h.distributed:
		q.places, q.home = ``, q.args.add(nil)
	case partitions != nil:
		q.places = `unnest(` + q.args.add(partitions) + `::bigint[]) AS p (id), LATERAL`
	}
	if until == 0 {
		until = store.Never
	}
	q.where = `a.partition = ` + q.home + ` AND a.` + column + ` >= ` + q.args.add(from) + ` AND a.` + column + ` < ` + q.args.add(until)
	return q, nil
}

// of returns the partition of a table's rows: in a query for one partition, its parameter.
func (q *conditions) of(table string) string {
	if q.places == `` {
		return q.home
	}
	return table + `.partition`
}

func (q *conditions) equal(what, value string) {
	if value != "" {
		q.where += ` AND ` + what + ` = ` + q.args.add(value)
		q.never = q.never || !isText(value)
	}
}

// selected returns the conditions for the ledger's records a.
func (h *handle) selected(f *store.LedgerFilter) (*conditions, error) {
	q, err := among(h, f.Partitions, "ended", f.From, f.Until)
	if err != nil {
		return nil, err
	}
	q.equal(`a.name`, f.Name)
	q.equal(`a.error_type`, f.ErrorType)
	if f.Outcome == store.OutcomeLost {
		q.where += ` AND a.outcome = '` + store.OutcomeLost + `'` // which has an index
	} else {
		q.equal(`a.outcome`, f.Outcome)
	}
	q.equal(`a.reason`, f.Reason)
	q.equal(`(SELECT r.type FROM perdure.runs r WHERE r.partition = `+q.of(`a`)+` AND r.id = a.run)`, f.Type)
	for _, has := range f.Attributes {
		q.where += ` AND EXISTS (SELECT FROM perdure.attributes h WHERE h.partition = ` + q.of(`a`) + ` AND h.run = a.run AND h.name = ` +
			q.args.add(has.Name) + ` AND h.value = ` + q.args.add(has.Value) + `)`
		q.never = q.never || !isText(has.Name) || !isText(has.Value)
	}
	return q, nil
}

func entryFields(e *store.LedgerEntry) []any {
	return append(attemptFields(&e.Attempt), &e.WorkflowID, &e.Type)
}

func (h *handle) Ledger(ctx context.Context, filter store.LedgerFilter) ([]store.LedgerEntry, error) {
	q, err := h.selected(&filter)
	if err != nil {
		return nil, err
	}
	if filter.Latest {
		q.where += ` AND ` + latestOfCall(q.of(`a`))
	}
	if filter.Above > 0 {
		q.where += ` AND a.number > ` + q.args.add(filter.Above)
	}
	if k := filter.Before; k != nil {
		q.where += ` AND (a.ended, a.run, a.call, a.number) < (` + q.args.add(k.Ended) + `, ` + q.args.add(runID(k.Run)) + `, ` + q.args.add(k.Call) + `, ` + q.args.add(k.Number) + `)`
		q.never = q.never || !isText(k.Run)
	}
	if q.never {
		return nil, nil
	}
	filter.Limit = store.Page(filter.Limit)
	return shared(ctx, h, "Ledger", func(c *conn) ([]store.LedgerEntry, error) {
		return page(h, filter.Limit, filter.Partitions, func(e *store.LedgerEntry) int { return e.Partition }, func(each int) (entries []store.LedgerEntry, err error) {
			query, args := q.ledger(filter.Limit, each)
			err = q.run(ctx, c, query, args, into(&entries, entryFields))
			if h.distributed {
				entries = newest(entries, filter.Limit, laterFirst)
			}
			return entries, err
		})
	})
}

// ledger returns the query for the latest records. It takes at most so many from each
// partition's end of the index.
func (q *conditions) ledger(limit, each int) (query string, args []any) {
	const down = ` ORDER BY a.ended DESC, a.run DESC, a.call DESC, a.number DESC`
	most := fmt.Sprintf(` LIMIT $%d`, len(q.args)+1)
	args = append(slices.Clone(q.args), limit)
	if q.places == `` {
		return `SELECT ` + attemptColumns + `, r.workflow_id, r.type FROM (SELECT * FROM perdure.attempts a WHERE ` + q.where + down + most + `) a
			JOIN perdure.runs r ON r.partition = ` + q.home + ` AND r.id = a.run` + down, args
	}
	args = append(args, each)
	return `WITH latest AS (SELECT a.* FROM ` + q.places + ` (SELECT * FROM perdure.attempts a WHERE ` + q.where + down + fmt.Sprintf(` LIMIT $%d`, len(args)) + `) a` + down + most + `)
		SELECT ` + attemptColumns + `, r.workflow_id, r.type FROM latest a, LATERAL (
			SELECT workflow_id, type FROM perdure.runs r WHERE r.partition = a.partition AND r.id = a.run LIMIT 1) r` + down, args
}

// run runs a query with the conditions: once, or for each partition if the database is
// distributed.
func (q *conditions) run(ctx context.Context, c *conn, query string, args []any, add func(r pgx.Rows) error) error {
	if q.places == `` {
		return c.eachPartition(ctx, q.all, q.partitions, query, args[1:], add)
	}
	return c.query(ctx, query, args, add)
}

// laterFirst orders the ledger, latest first.
func laterFirst(a, b store.LedgerEntry) int {
	return b.Key().Compare(a.Key())
}

func (h *handle) Errors(ctx context.Context, filter store.LedgerFilter) ([]store.ErrorGroup, error) {
	if filter.Limit > 0 {
		if some, err := h.fromLatest(ctx, &filter); err != nil || !some {
			return nil, err
		}
	}
	q, err := h.selected(&filter)
	if err != nil || q.never {
		return nil, err
	}
	query := q.errors()
	return shared(ctx, h, "Errors", func(c *conn) (groups []store.ErrorGroup, err error) {
		err = q.run(ctx, c, query, q.args, into(&groups, func(g *store.ErrorGroup) []any {
			return append([]any{&g.Name, &g.ErrorType, &g.Attempts, &g.Calls, &g.Recovered, &g.First, &g.Last}, entryFields(&g.Example)...)
		}))
		if h.distributed {
			groups = store.MergeErrors(groups)
		}
		return groups, err
	})
}

// fromLatest moves the beginning of what a filter selects, so that its limit of failed records
// remains. It reports whether there are some.
func (h *handle) fromLatest(ctx context.Context, filter *store.LedgerFilter) (some bool, err error) {
	q, err := h.selected(filter)
	if err != nil || q.never {
		return false, err
	}
	query := `SELECT a.partition, a.ended FROM perdure.attempts a WHERE ` + q.where + ` AND a.error_type <> '' ORDER BY a.ended DESC LIMIT ` + q.args.add(filter.Limit)
	mostOfEach := len(q.args) - 1
	if q.places != `` {
		query = `SELECT a.partition, a.ended FROM ` + q.places + ` (` + query + `) a ORDER BY a.ended DESC LIMIT ` + q.args.add(filter.Limit)
	}
	type failed struct {
		partition int
		ended     int64
	}
	latest, err := shared(ctx, h, "Errors", func(c *conn) ([]failed, error) {
		return page(h, filter.Limit, filter.Partitions, func(f *failed) int { return f.partition }, func(each int) (latest []failed, err error) {
			q.args[mostOfEach] = each
			err = q.run(ctx, c, query, q.args, into(&latest, func(f *failed) []any { return []any{&f.partition, &f.ended} }))
			return latest, err
		})
	})
	var ended []int64
	for _, f := range latest {
		ended = append(ended, f.ended)
	}
	filter.From = store.FromLatest(filter.Limit, ended, filter.From)
	return len(ended) > 0, err
}

// errors returns the query for the groups of failed records: first by call, then by error,
// with the latest record of each group.
func (q *conditions) errors() string {
	q.where += ` AND a.error_type <> ''`
	return `WITH failed AS (SELECT a.partition, a.name, a.error_type, a.run, a.call, count(*) AS n, min(a.ended) AS first, max(a.ended) AS last,
				max(a.number) FILTER (WHERE a.ended = a.latest) AS number
			FROM (SELECT a.*, max(a.ended) OVER (PARTITION BY a.name, a.error_type, a.run, a.call) AS latest FROM ` + q.places + ` (
				SELECT a.partition, a.name, a.error_type, a.run, a.call, a.number, a.ended FROM perdure.attempts a WHERE ` + q.where + ` OFFSET 0) a) a
			GROUP BY a.partition, a.name, a.error_type, a.run, a.call),
		groups AS (SELECT a.name, a.error_type, sum(a.n) AS attempts, count(*) AS calls, count(*) FILTER (WHERE ` + endingOfCall(q.of(`a`)) + ` = '` + store.OutcomeCompleted + `') AS recovered,
			min(a.first) AS first, max(a.last) AS last FROM failed a GROUP BY a.name, a.error_type),
		examples AS (SELECT DISTINCT ON (name, error_type) * FROM failed ORDER BY name, error_type, last DESC, run DESC, call DESC)
		SELECT g.name, g.error_type, g.attempts::bigint, g.calls, g.recovered, g.first, g.last, ` + attemptColumns + `, r.workflow_id, r.type
		FROM groups g JOIN examples e USING (name, error_type), LATERAL (
			SELECT * FROM perdure.attempts a WHERE a.partition = ` + q.of(`e`) + ` AND a.run = e.run AND a.call = e.call AND a.number = e.number LIMIT 1) a, LATERAL (
			SELECT workflow_id, type FROM perdure.runs r WHERE r.partition = ` + q.of(`a`) + ` AND r.id = a.run LIMIT 1) r
		ORDER BY g.name, g.error_type`
}

func (h *handle) Tallies(ctx context.Context, filter store.TallyFilter) ([]store.Tally, error) {
	q, err := among(h, filter.Partitions, "bucket", filter.From, filter.Until)
	if err != nil {
		return nil, err
	}
	q.equal(`a.type`, filter.Type)
	q.equal(`a.name`, filter.Name)
	if q.never {
		return nil, nil
	}
	sums, group := "sum(a."+strings.ReplaceAll(store.TallyCounts, ", ", ")::bigint, sum(a.")+")::bigint", "a.type, a.name, a.took"
	bucket := "0::bigint"
	if filter.ByBucket {
		bucket, group = "a.bucket", "a.bucket, "+group
	}
	return shared(ctx, h, "Tallies", func(c *conn) (tallies []store.Tally, err error) {
		err = q.run(ctx, c, `SELECT 0::bigint, `+bucket+`, a.type, a.name, a.took, `+sums+`
			FROM `+q.places+` (SELECT * FROM perdure.tallies a WHERE `+q.where+` OFFSET 0) a GROUP BY `+group+` ORDER BY `+group,
			q.args, into(&tallies, tallyFields))
		if h.distributed {
			tallies = store.AddUp(store.Keyed(tallies, filter.Key))
		}
		return tallies, err
	})
}

// tallyFields are those of partition, tallyKey and store.TallyCounts.
func tallyFields(t *store.Tally) []any {
	fields := []any{&t.Partition, &t.Bucket, &t.Type, &t.Name, &t.Took}
	for _, n := range t.Counts() {
		fields = append(fields, n)
	}
	return fields
}
