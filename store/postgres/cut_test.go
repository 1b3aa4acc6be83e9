package postgres

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
)

// verb is something that is asked for again, with the same bytes, when the answer
// is lost.
type verb struct {
	name    string
	prepare func(w *world) (ask func() error)
}

// verbs are all that write, each in a form that does much.
var verbs = []verb{
	{"Join", func(w *world) func() error {
		n := w.describe("node-2")
		n.Supersede = true
		return func() error { return w.Join(w.Context(), n) }
	}},
	{"Renew", func(w *world) func() error {
		return func() error {
			_, err := w.Renew(w.Context(), store.Renewal{Node: w.node, Last: 0, Next: 7, Draining: true})
			return err
		}
	}},
	{"Leave", func(w *world) func() error {
		return func() error { return w.Leave(w.Context(), w.node) }
	}},
	{"Release", func(w *world) func() error {
		return func() error { return w.Release(w.Context(), w.node, []int{1, 2}) }
	}},
	{"Group", func(w *world) func() error {
		return func() error {
			_, err := w.Group(w.Context(), "another")
			return err
		}
	}},
	{"Create", func(w *world) func() error {
		r := w.newRunAgain(50)
		return func() error { return w.Create(w.Context(), r) }
	}},
	{"Post", func(w *world) func() error {
		r := w.newRunAgain(1)
		m := store.Message{Partition: r.Partition, WorkflowID: r.WorkflowID, Key: "k", Kind: "signal", Data: []byte("x")}
		return func() error { return w.Post(w.Context(), m) }
	}},
	{"Commit", func(w *world) func() error { return w.committing(w.batch()...) }},
	{"CommitWithAHook", func(w *world) func() error { return w.committing(w.hooked()) }},
	{"CommitWithCare", func(w *world) func() error {
		known := w.first(w.newRunAgain(1)) // is durable already
		return w.committing(append(w.batch(), w.hooked(), known)...)
	}},
}

func (w *world) committing(turns ...store.Turn) func() error {
	return func() error {
		result, err := w.Commit(w.Context(), turns)
		if err != nil {
			return err
		}
		for i, err := range result.Errors {
			if err != nil {
				return fmt.Errorf("turn %d: %w", i, err)
			}
		}
		return nil
	}
}

// newRunAgain describes the run of a number as newRun did.
func (w *world) newRunAgain(number int) store.Run {
	again := &world{runs: number - 1}
	return again.newRun()
}

// furnish writes what the verbs find.
func (w *world) furnish() {
	for n := 1; n <= 6; n++ {
		w.commits(w.first(w.newRunAgain(n)))
	}
	r := w.newRunAgain(2)
	t := w.turn(r, 2)
	t.Calls = []store.Call{{Number: 1, State: store.Backoff}, {Number: 2, State: store.Queued}}
	t.Attempts = []store.Attempt{{Call: 1, Number: 1}}
	w.commits(t)
	w.must(w.Post(w.Context(), store.Message{Partition: r.Partition, WorkflowID: r.WorkflowID, Key: "to be consumed"}))
}

// batch is turns that use every statement there is.
func (w *world) batch() []store.Turn {
	created := w.first(w.newRunAgain(60))
	created.State = &store.RunState{Status: store.Running, Wake: 77}
	many := w.turn(w.newRunAgain(2), 3)
	many.State = &store.RunState{Status: store.Parked, Wake: store.Never, Detail: []byte{0xff}}
	many.Calls = []store.Call{{Number: 1, State: store.Paused, Attempt: 2}, {Number: 3, State: store.Queued}}
	many.Closed = []int64{2}
	many.Attempts = []store.Attempt{{Call: 1, Number: 2, Prune: 1}}
	inbox, err := w.Inbox(w.Context(), []int{many.Partition}, store.InboxRead{})
	w.must(err)
	many.Consumed = []int64{inbox[0].Sequence}
	many.Messages = []store.Message{{Partition: 1, WorkflowID: "anybody", Key: "m", Data: []byte("y")}}
	next := w.newRunAgain(61)
	closing := w.turn(w.newRunAgain(3), 2)
	next.Partition, next.WorkflowID, next.Chain = closing.Partition, w.newRunAgain(3).WorkflowID, closing.Run
	closing.State = &store.RunState{Status: store.Continued, Wake: store.Never, Closed: 9}
	closing.Create = &next
	return []store.Turn{created, many, closing, w.turn(w.newRunAgain(4), 2)}
}

func (w *world) hooked() store.Turn {
	t := w.turn(w.newRunAgain(5), 2)
	t.Hook = func(tx any) error {
		_, err := tx.(pgx.Tx).Exec(context.Background(), w.sql(`INSERT INTO perdure.effects VALUES ('of the hook')`))
		return err
	}
	return t
}

// TestE83_ConnectionCutAnywhere cuts the connection before every message that
// either side sends while a verb works: the verb says that the database is not
// available, and asked for again it does what it would have done the first time,
// once. By day a twelfth of the messages has its turn.
func TestE83_ConnectionCutAnywhere(t *testing.T) {
	p := newProxy(t, pgtest.Shared(t).Socket())
	w := newWorldAt(t, p.dsn("postgres"), Schema(freshSchema()))
	w.exec(`CREATE TABLE perdure.effects (what text)`)
	for i, v := range verbs {
		t.Run(v.name, func(t *testing.T) {
			w.TB = t
			w.clear()
			w.furnish()
			w.must(v.prepare(w)())
			want := w.dump()
			for _, s := range []side{client, server} {
				step := extent.AtNight(12, 1)
				n := i % step // so that over the verbs each message has its turn
				for w.cut(p, v, s, n, want) {
					n += step
				}
				if n < 3 {
					t.Errorf("only %d of %s messages were cut", n, s)
				}
			}
		})
	}
}

// cut answers false if there was no such message.
func (w *world) cut(p *proxy, v verb, s side, n int, want string) bool {
	w.Helper()
	w.clear()
	w.furnish()
	ask := v.prepare(w)
	if v.name == "Post" {
		w.pool.Reset() // the connection is new, so that its first messages are cut too
	}
	p.cutAt(s, n)
	err := ask()
	cut := p.disarm()
	if err != nil && !store.Unavailable(err) {
		w.Fatalf("cut before %s message %d: %v", s, n, err)
	}
	for range 10 { // connections of the pool that were cut say so one by one
		if err = ask(); !store.Unavailable(err) {
			break
		}
	}
	if err != nil {
		w.Fatalf("cut before %s message %d, then asked again: %v", s, n, err)
	}
	if got := w.dump(); got != want {
		w.Fatalf("cut before %s message %d\ngot\n%s\nwant\n%s", s, n, got, want)
	}
	return cut
}

// clear makes the database as newWorld left it.
func (w *world) clear() {
	w.Helper()
	w.must(w.hold(w.Context(), "a test", func(c *conn) error {
		return c.script(w.Context(), emptied+"; DELETE FROM perdure.effects")
	}))
	w.must(w.Join(w.Context(), w.describe(w.node)))
	w.claim()
}
