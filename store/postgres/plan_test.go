package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
)

// eavesdropper is a tracer that notes the statements that are run.
type eavesdropper struct {
	mu    sync.Mutex
	said  []string
	with  map[string][]any // parameters of what was said
	trips atomic.Int64     // to the server and back
}

func (e *eavesdropper) note(sql string, args []any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if words := strings.Fields(sql); slices.Contains([]string{"SELECT", "WITH", "INSERT", "UPDATE", "DELETE"}, words[0]) && !slices.Contains(e.said, sql) {
		if e.said = append(e.said, sql); e.with == nil {
			e.with = map[string][]any{}
		}
		e.with[sql] = args
	}
}

func (e *eavesdropper) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	e.trips.Add(1)
	e.note(d.SQL, d.Args)
	return ctx
}
func (e *eavesdropper) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (e *eavesdropper) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	e.trips.Add(1)
	for _, q := range d.Batch.QueuedQueries {
		e.note(q.SQL, q.Arguments)
	}
	return ctx
}
func (e *eavesdropper) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (e *eavesdropper) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// overheard opens a database whose statements are heard.
func overheard(t *testing.T, config *pgxpool.Config, options ...Option) (*world, *eavesdropper) {
	t.Helper()
	ear := &eavesdropper{}
	w := traced(t, config, ear, options...)
	ear.said = nil // opening is rare
	w.must(w.Join(t.Context(), w.describe(w.node)))
	w.claim()
	return w, ear
}

// traced opens a database whose connections have a tracer. Its node has not joined.
func traced(t *testing.T, config *pgxpool.Config, tracer pgx.QueryTracer, options ...Option) *world {
	t.Helper()
	config.ConnConfig.Tracer = tracer
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s, err := Pool(pool, append(options, Partitions(4))...).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &world{TB: t, handle: s.(*handle), node: "node-1"}
}

// TestRoundTrips counts them: one for the usual commit, and few for a large one
// of which some turns get another answer.
func TestRoundTrips(t *testing.T) {
	config, err := pgxpool.ParseConfig(pgtest.Shared(t).DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	w, ear := overheard(t, config, Schema(freshSchema()))
	w.exec(`CREATE TABLE perdure.effects (what text)`)
	w.furnish()
	w.runs = 1000 // the furniture has lower numbers
	known := w.created()
	before := ear.trips.Load()
	w.commits(w.batch()...)
	if n := ear.trips.Load() - before; n != 1+1 { // and one to look into the inbox, which the test does
		t.Errorf("the usual commit took %d round trips", n-1)
	}
	var turns []store.Turn
	for range 300 {
		turns = append(turns, w.first(w.newRun()))
	}
	rival, stale, ghost, fenced := w.newRun(), w.turn(w.newRunAgain(6), 1), w.turn(w.newRun(), 2), w.first(w.newRun())
	rival.Partition, rival.WorkflowID = known.Partition, known.WorkflowID
	stale.CommitID++
	fenced.Epoch--
	refused := []store.Turn{w.first(rival), stale, ghost, fenced}
	before = ear.trips.Load()
	result, err := w.Commit(t.Context(), slices.Concat(turns, []store.Turn{w.first(known)}, refused))
	w.must(err)
	if n := ear.trips.Load() - before; n > 12 {
		t.Errorf("the commit with refusals took %d round trips", n)
	}
	for i, err := range result.Errors {
		if (err != nil) != (i > len(turns)) {
			t.Errorf("turn %d was answered %v", i, err)
		}
	}
}

// statements hears all that the verbs say which are called often.
func statements(t *testing.T, config *pgxpool.Config) *eavesdropper {
	t.Helper()
	w, ear := overheard(t, config)
	w.exec(`CREATE TABLE perdure.effects (what text)`)
	w.furnish()
	for _, v := range verbs {
		if v.name != "Leave" && v.name != "Join" {
			w.must(v.prepare(w)())
			w.claim() // what Release gave back
		}
	}
	ctx, r := t.Context(), w.newRunAgain(1)
	_, err := w.Due(ctx, []int{0, 1}, -1, store.Never, 10)
	w.must(err)
	_, err = w.Load(ctx, r.Partition, r.ID)
	w.must(err)
	_, err = w.Find(ctx, r.Partition, r.WorkflowID, "")
	w.must(err)
	_, err = w.Inbox(ctx, []int{0, 1}, store.InboxRead{Limit: 500, Of: []string{"a", "b"}})
	w.must(err)
	_, err = w.Ended(ctx, []store.RunRef{{Partition: r.Partition, Run: r.ID}})
	w.must(err)
	for _, part := range []store.AttemptRange{{}, {Call: 1}, {After: store.AttemptKey{Call: 1, Number: 2}, Limit: 3}, {Latest: true, Limit: 3}} {
		_, err = w.Attempts(ctx, r.Partition, r.ID, part)
		w.must(err)
	}
	key := store.LedgerKey{Ended: 1, Run: "r", Call: 1, Number: 1}
	for _, f := range []store.LedgerFilter{
		{}, {Before: &key, Partitions: []int{1}}, {Latest: true, Above: 3}, {Name: "n"}, {Name: "n", Before: &key}, {Name: "n", ErrorType: "e", Outcome: "o", Reason: "w", Type: "t", Partitions: []int{0, 1}}, {Outcome: "lost"},
	} {
		_, err = w.Ledger(ctx, f)
		w.must(err)
		_, err = w.Errors(ctx, f)
		w.must(err)
		f.Limit = 10
		_, err = w.Errors(ctx, f)
		w.must(err)
	}
	for _, f := range []store.TallyFilter{{}, {Type: "t", Name: "n", Partitions: []int{0, 1}}} {
		_, err = w.Tallies(ctx, f)
		w.must(err)
	}
	over := w.created()
	end := w.turn(over, 2)
	end.State = &store.RunState{Status: store.Completed, Wake: store.Never, Closed: 1}
	w.commits(end)
	_, err = w.Delete(ctx, store.Deletion{Partition: over.Partition, Runs: []string{over.ID}, TalliesBefore: 1})
	w.must(err)
	_, err = w.Owners(ctx, 1)
	w.must(err)
	for _, partitions := range [][]int{nil, {1}} {
		_, err = w.Counts(ctx, partitions, 10)
		w.must(err)
		_, err = w.Waiting(ctx, store.CallFilter{Partitions: partitions, State: store.Backoff})
		w.must(err)
	}
	for _, f := range []store.Filter{{}, {Status: []store.Status{store.Failed, store.Parked}, Before: "x"}, {Status: []store.Status{store.Completed}}, {Call: store.Backoff, Partitions: []int{1}}, {ErrorType: "e"},
		{Attributes: []store.Attribute{{Name: "n", Value: "v"}, {Name: "m", Value: "v"}}, Before: "x", Above: "a"},
		{Attributes: []store.Attribute{{Name: "n", Value: "v"}}, Status: []store.Status{store.Failed}, Partitions: []int{1}}, // as perdure list --key
		{Since: time.Unix(1, 0), Until: time.Unix(2, 0), Above: "a", Before: "x"}} {
		_, err = w.List(ctx, f)
		w.must(err)
	}
	_, err = w.Line(ctx, store.LineRead{Partitions: []int{0, 1, 2, 3}, From: "k", Limit: 10})
	w.must(err)
	_, err = w.ClaimTasks(ctx, store.TaskClaim{Worker: "w", Partitions: store.Group{Partitions: 4}, Queue: "q", Names: []string{"n"}, Turns: store.Turns{From: "k", Limit: 10}})
	w.must(err)
	return ear
}

// node is a node of a plan.
type planNode struct {
	Type      string     `json:"Node Type"`
	Relation  string     `json:"Relation Name"`
	Index     string     `json:"Index Name"`
	Condition string     `json:"Index Cond"`
	Filter    string     `json:"Filter"`
	Parent    string     `json:"Parent Relationship"`
	Subplan   string     `json:"Subplan Name"`
	Plans     []planNode `json:"Plans"`
}

// scans lists the scans of large tables that read more than they must.
func (n *planNode) scans() (faults []string) {
	large := slices.Contains([]string{"runs", "turns", "calls", "attempts", "inbox", "owners", "tallies", "attributes", "tasks"}, n.Relation)
	// What is in wards is little, and its index has nothing else. Whether there is anything at all is
	// said by the first row.
	exists := n.Parent == "InitPlan" && !strings.HasPrefix(n.Subplan, "CTE ")
	index := (n.Type == "Index Scan" || n.Type == "Index Only Scan") && n.Index != "runs_ward" && !exists
	if large && (n.Type == "Seq Scan" || index && n.Condition == "") {
		faults = append(faults, n.Type+" on "+n.Relation)
	}
	// The next of a key is found without a look at those of others, and without sorting its own.
	byKey := strings.Contains(n.Condition, "run_key") || n.Index == "tasks_open" && strings.Contains(n.Condition, "suspect = true")
	if (n.Index == "runs_line" || n.Index == "tasks_open") && !exists && (!byKey || n.Type == "Bitmap Index Scan") {
		faults = append(faults, n.Type+" on "+n.Index+": "+n.Condition)
	}
	if n.Index == "attempts_pkey" && !strings.Contains(n.Condition, "run =") { // all of a partition
		faults = append(faults, "half a key of "+n.Relation)
	}
	if n.Index == "attempts_ended" && strings.Contains(n.Filter, "name = ") { // all of the others, for a name with few
		faults = append(faults, "the ledger of a name by time alone")
	}
	for i := range n.Plans {
		faults = append(faults, n.Plans[i].scans()...)
	}
	return faults
}

var parameter = regexp.MustCompile(`\$\d+`)

// parameters returns how many parameters a statement has.
func parameters(sql string) (n int) {
	for _, p := range parameter.FindAllString(sql, -1) {
		i, _ := strconv.Atoi(p[1:])
		n = max(n, i)
	}
	return n
}

// TestT4_StatementsUseIndexes asks for the plan of each statement while the tables
// are empty, again in the same session when they are large, and once more when
// the server knows that they are.
func TestT4_StatementsUseIndexes(t *testing.T) {
	server := pgtest.Start(t, pgtest.Set("autovacuum", "off"))
	config, err := pgxpool.ParseConfig(server.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	Tune(config)
	said := statements(t, config.Copy()).said
	if len(said) < 30 {
		t.Fatalf("only %d statements were heard", len(said))
	}
	conn, err := pgx.ConnectConfig(t.Context(), config.ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	explain := func(when string) {
		for i, sql := range said {
			values := strings.TrimSuffix(strings.Repeat("NULL, ", parameters(sql)), ", ")
			if values != "" {
				values = "(" + values + ")"
			}
			var plans []struct{ Plan planNode }
			var text string
			if err := conn.QueryRow(t.Context(), fmt.Sprintf("EXPLAIN (FORMAT JSON) EXECUTE s%d%s", i, values), pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			if err := json.Unmarshal([]byte(text), &plans); err != nil {
				t.Fatal(err)
			}
			if faults := plans[0].Plan.scans(); len(faults) > 0 && !strings.Contains(sql, placesCounted) { // who counts reads all
				t.Errorf("%s: %q in\n%s", when, faults, sql)
			}
		}
	}
	for i, sql := range said {
		exec(fmt.Sprintf("PREPARE s%d AS %s", i, sql))
	}
	explain("young")
	exec(`INSERT INTO perdure.runs (partition, id, workflow_id, type, node_group, chain, attempt, created, status, wake, closed, start, detail)
			SELECT n % 4, perdure.run_bytes('many-' || n), 'many-' || n, 't', '', perdure.run_bytes('many-' || n), 1, n, CASE n % 10 WHEN 0 THEN 'running' ELSE 'completed' END, CASE n % 10 WHEN 0 THEN n END, 0, '', ''
			FROM generate_series(1, 200000) n;
		INSERT INTO perdure.turns SELECT partition, id, 1, 1, 1, 1, '' FROM perdure.runs ON CONFLICT DO NOTHING;
		INSERT INTO perdure.calls SELECT partition, id, 1, 0, 'backoff', '', '', 1, 1, '' FROM perdure.runs WHERE wake IS NOT NULL ON CONFLICT DO NOTHING;
		INSERT INTO perdure.attempts SELECT partition, id, 1, 1, '', '', '', '', 1, 1, '' FROM perdure.runs WHERE wake IS NOT NULL ON CONFLICT DO NOTHING;
		INSERT INTO perdure.tallies SELECT n % 4, n, 't', 'n', n % 5, 1, 1, 1, 1, 1, 1, 1, 1, 1 FROM generate_series(1, 20000) n;
		INSERT INTO perdure.inbox (partition, workflow_id, run, key, kind, posted, data) SELECT partition, workflow_id, '', 'k', '', 1, '' FROM perdure.runs WHERE wake IS NOT NULL ON CONFLICT DO NOTHING;
		INSERT INTO perdure.attributes SELECT partition, 'n', 'v', id FROM perdure.runs ON CONFLICT DO NOTHING;
		INSERT INTO perdure.runs (partition, id, workflow_id, type, node_group, chain, attempt, created, status, wake, closed, start, detail, run_key)
			SELECT n % 4, perdure.run_bytes('line-' || n), 'line-' || n, 't', '', perdure.run_bytes('line-' || n), 1, n, 'running', ` + inLineByKey + `, 0, '', '', 'k' || n % 1000 FROM generate_series(1, 50000) n;
		INSERT INTO perdure.attributes SELECT partition, '#key', run_key, id FROM perdure.runs WHERE run_key <> '' ON CONFLICT DO NOTHING;
		INSERT INTO perdure.tasks (partition, run, number, attempt, workflow_id, queue, name, run_key, weight, priority, suspect, offered, data)
			SELECT n % 4, perdure.run_bytes('line-' || n), 1, 1, 'line-' || n, 'q', 'n', 'k' || n % 1000, 1, 0, false, n, '' FROM generate_series(1, 50000) n;
		INSERT INTO perdure.owners SELECT n % 4, n, 'x', 1 FROM generate_series(1000, 20000) n`)
	explain("grown")
	exec(`ANALYZE`)
	explain("grown and known")
}
