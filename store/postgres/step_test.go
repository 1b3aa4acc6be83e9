package postgres

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/perdure/perdure/internal/goldenfile"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
)

// batches is a tracer that notes the batches that are sent.
type batches struct{ sent [][]string }

func (b *batches) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (b *batches) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (b *batches) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	var all []string
	for _, q := range d.Batch.QueuedQueries {
		all = append(all, q.SQL)
	}
	b.sent = append(b.sent, all)
	return ctx
}
func (b *batches) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (b *batches) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// batched opens a database of its own whose batches are noted.
func batched(t *testing.T) (*world, *batches) {
	t.Helper()
	config, err := pgxpool.ParseConfig(pgtest.Shared(t).DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	ear := &batches{}
	w := traced(t, config, ear, Schema(freshSchema()))
	w.must(w.Join(t.Context(), w.describe(w.node)))
	w.claim()
	return w, ear
}

var writing = regexp.MustCompile(`(INSERT INTO|UPDATE|DELETE FROM) \S+\.(\w+)`)

// TestWhatTheServerDoesForAStep counts it, and holds the table of docs/scaling.md to it. How
// much is written ahead differs a little from commit to commit: it is held to a bound, in
// the least of ten.
func TestWhatTheServerDoesForAStep(t *testing.T) {
	w, ear := batched(t)

	var table strings.Builder
	table.WriteString("| commit of | round trips | statements | of these write | locks | WAL, at most |\n|---|---|---|---|---|---|\n")
	for _, c := range stepCosts(w) {
		least, counted := int64(-1), ""
		for range 10 {
			turns := c.turns()
			ear.sent = nil
			before := w.wal()
			w.commits(turns...)
			n := w.wal() - before
			if least < 0 || n < least {
				least = n
			}
			counted = describeBatches(ear.sent, turns)
		}
		if least > c.most {
			t.Errorf("%s: %d bytes were written ahead, and %d is the bound", c.name, least, c.most)
		}
		fmt.Fprintf(&table, "| %s | %s | %d bytes |\n", c.name, counted, c.most)
	}
	goldenfile.Section(t, "../../docs/scaling.md", "<!-- steps -->\n", "<!-- /steps -->", table.String())
}

// wal is how many bytes the server has written ahead.
func (w *world) wal() (n int64) {
	w.Helper()
	w.must(w.hold(context.Background(), "a test", func(c *conn) error {
		_, err := c.one(context.Background(), `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`, nil, &n)
		return err
	}))
	return n
}

// describeBatches says what a commit sent.
func describeBatches(sent [][]string, turns []store.Turn) string {
	statements, partitions := 0, map[int]bool{}
	var writes []string
	for _, b := range sent {
		statements += len(b)
		for _, sql := range b {
			for _, m := range writing.FindAllStringSubmatch(sql, -1) {
				if w := strings.ToLower(strings.Fields(m[1])[0]) + " " + m[2]; !slices.Contains(writes, w) {
					writes = append(writes, w)
				}
			}
		}
	}
	for _, t := range turns {
		partitions[t.Partition] = true
	}
	return fmt.Sprintf("%d | %d | %s | %d row%s of partitions, shared", len(sent), statements, strings.Join(writes, ", "), len(partitions), map[bool]string{true: "", false: "s"}[len(partitions) == 1])
}

type stepCost struct {
	name  string
	most  int64 // bytes of WAL
	turns func() []store.Turn
}

// stepCosts are the commits of which lives of workflows consist. Their documents are as long
// as engines make them.
func stepCosts(w *world) []stepCost {
	doc := func(n int) []byte { return []byte(`{"v":1,"e":[` + strings.Repeat("x", n-40) + `],"crc":1234567890}`) }
	begun := func() store.Run {
		r := w.newRun()
		r.ID = fmt.Sprintf("0192f000-0000-7000-8000-%012d", w.runs)
		r.Chain, r.WorkflowID, r.Start = r.ID, fmt.Sprintf("order-%06d", w.runs), []byte(`{"v":1,"input":{"json":5},"crc":1234567890}`)
		return r
	}
	first := func() store.Turn {
		t := w.first(begun())
		t.Events = doc(62)
		return t
	}
	after := func(number int64) store.Turn { // of a run that has begun
		t := first()
		w.commits(t)
		next := w.turn(*t.Create, number)
		next.Events = doc(165)
		return next
	}
	tally := store.Tally{TallyKey: store.TallyKey{Bucket: 1, Type: "order", Name: "charge"}, FirstTry: 1, Attempts: 1}
	w.commits(func() store.Turn { t := first(); t.Tallies = []store.Tally{tally}; return t }())
	step := func() store.Turn { return after(2) }
	return []stepCost{
		{"a start, with the first call", 1100, func() []store.Turn { return []store.Turn{first()} }},
		{"a step: the end of a call and the next one", 550, func() []store.Turn { return []store.Turn{step()} }},
		{"a failed attempt and its backoff", 1300, func() []store.Turn {
			t := step()
			t.Number, t.Events, t.CommitID = 0, nil, 0
			t.Calls = []store.Call{{Partition: t.Partition, Run: t.Run, Number: 1, State: store.Backoff, Name: "charge", Attempt: 2, Due: 5, Data: doc(120)}}
			t.Attempts = []store.Attempt{{Partition: t.Partition, Run: t.Run, Call: 1, Number: 1, Name: "charge", Outcome: "failed", ErrorType: "Unavailable", Reason: "backoff", Started: 1, Ended: 2, Data: doc(150)}}
			return []store.Turn{t}
		}},
		{"the end, with its result and counters", 1250, func() []store.Turn {
			t := step()
			t.State = &store.RunState{Status: store.Completed, Wake: store.Never, Closed: 9, Detail: []byte(`{"result":{"json":5},"crc":1234567890}`)}
			t.Tallies = []store.Tally{tally}
			return []store.Turn{t}
		}},
		{"100 steps of 100 workflows", 45_000, func() []store.Turn {
			var all []store.Turn
			for range 100 {
				all = append(all, step())
			}
			return all
		}},
	}
}
