package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// world is an open database of which a node owns all partitions.
type world struct {
	testing.TB
	*handle
	opener store.Opener
	node   string
	epoch  int64
	runs   int
}

// newWorld opens a schema of its own on the server of this test binary.
func newWorld(t testing.TB, options ...Option) *world {
	t.Helper()
	return newWorldOn(t, lasting(t, append([]Option{Partitions(4), Schema(freshSchema())}, options...)...))
}

// newWorldAt opens a database with connections of its own.
func newWorldAt(t testing.TB, url string, options ...Option) *world {
	t.Helper()
	return newWorldOn(t, URL(url, append([]Option{Partitions(4)}, options...)...))
}

func newWorldOn(t testing.TB, opener store.Opener) *world {
	t.Helper()
	w := &world{TB: t, opener: opener, node: "node-1"}
	w.handle = w.another()
	w.must(w.Join(w.Context(), w.describe(w.node)))
	w.claim()
	return w
}

// another opens the database once more.
func (w *world) another() *handle {
	w.Helper()
	s, err := w.opener.Open(w.Context())
	w.must(err)
	w.Cleanup(func() { s.Close() })
	return s.(*handle)
}

func (w *world) describe(node string) store.Node {
	return store.Node{ID: node, Name: "a node", Lease: time.Hour}
}

// claim makes the node the owner of all partitions of the group "".
func (w *world) claim() {
	w.Helper()
	owned, err := w.Claim(w.Context(), w.node, []int{0, 1, 2, 3})
	w.must(err)
	if len(owned) != 4 {
		w.Fatalf("only these could be claimed: %+v", owned)
	}
	w.epoch = owned[0].Epoch
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// newRun describes a run with an ID of its own.
func (w *world) newRun() store.Run {
	w.runs++
	id := fmt.Sprintf("run-%06d", w.runs)
	return store.Run{Partition: w.runs % 4, ID: id, WorkflowID: "workflow of " + id, Type: "test", Chain: id, Attempt: 1,
		Start: []byte(`{"input":1}`), Created: 5, RunState: store.RunState{Status: store.Running}}
}

func (w *world) turn(r store.Run, number int64) store.Turn {
	return store.Turn{Partition: r.Partition, Epoch: w.epoch, Run: r.ID, Number: number, CommitID: 100 + number, Time: number, Events: []byte(`[{"a":1}]`)}
}

func (w *world) first(r store.Run) store.Turn {
	t := w.turn(r, 1)
	t.Create = &r
	return t
}

// created commits a new run with its first turn.
func (w *world) created() store.Run {
	w.Helper()
	r := w.newRun()
	w.commits(w.first(r))
	return r
}

// commits demands that every turn becomes durable.
func (w *world) commits(turns ...store.Turn) {
	w.Helper()
	result, err := w.Commit(w.Context(), turns)
	w.must(err)
	for _, err := range result.Errors {
		w.must(err)
	}
}

// exec runs SQL of a test's own.
func (w *world) exec(sql string, args ...any) {
	w.Helper()
	w.must(w.hold(w.Context(), "a test", func(c *conn) error {
		_, err := c.exec(w.Context(), sql, args...)
		return err
	}))
}

// value reads one text.
func (w *world) value(sql string, args ...any) (answer string) {
	w.Helper()
	w.must(w.hold(context.Background(), "a test", func(c *conn) error {
		_, err := c.one(context.Background(), sql, args, &answer)
		return err
	}))
	return answer
}

// dump shows all rows of the tables, without what differs from time to time.
func (w *world) dump() string {
	w.Helper()
	var all strings.Builder
	for _, query := range []string{
		`SELECT 'run', to_jsonb(t)::text FROM perdure.runs t ORDER BY 2`,
		`SELECT 'turn', to_jsonb(t)::text FROM perdure.turns t ORDER BY 2`,
		`SELECT 'call', to_jsonb(t)::text FROM perdure.calls t ORDER BY 2`,
		`SELECT 'attempt', to_jsonb(t)::text FROM perdure.attempts t ORDER BY 2`,
		`SELECT 'message', (to_jsonb(t) - 'sequence' - 'posted')::text FROM perdure.inbox t ORDER BY 2`,
		`SELECT 'partition', (to_jsonb(t) - 'clock')::text FROM perdure.partitions t ORDER BY id`,
		`SELECT 'owner', (to_jsonb(t) - 'since' - 'over')::text FROM perdure.owners t ORDER BY 2`,
		`SELECT 'node', (to_jsonb(t) - 'ordinal' - 'joined' - 'seen' - 'alive' - 'expires' - 'clock' - 'departed' || jsonb_build_object('left', departed IS NOT NULL))::text
			FROM perdure.nodes t ORDER BY 2`,
		`SELECT 'group', to_jsonb(t)::text FROM perdure.node_groups t ORDER BY 2`,
	} {
		w.must(w.hold(context.Background(), "a test", func(c *conn) error {
			return c.query(context.Background(), query, nil, func(r pgx.Rows) error {
				var table, row string
				err := r.Scan(&table, &row)
				fmt.Fprintf(&all, "%s %s\n", table, row)
				return err
			})
		}))
	}
	if w.value(`SELECT coalesce(to_regclass('perdure.effects')::text, '')`) != "" {
		fmt.Fprintln(&all, w.value(`SELECT 'effects of hooks: ' || count(*) FROM perdure.effects`))
	}
	return all.String()
}
