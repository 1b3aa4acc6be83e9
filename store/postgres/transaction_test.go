package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
)

// caller is a program with connections of its own.
type caller struct {
	*world
	db   *sql.DB
	pool *pgxpool.Pool
}

func newCaller(t *testing.T, w *world) *caller {
	t.Helper()
	url := pgtest.Shared(t).DSN("postgres")
	pool, err := pgxpool.New(t.Context(), url)
	w.must(err)
	t.Cleanup(pool.Close)
	config, err := pgx.ParseConfig(url)
	w.must(err)
	db := stdlib.OpenDB(*config)
	t.Cleanup(func() { db.Close() })
	return &caller{w, db, pool}
}

// callersTx is a transaction of a caller, whichever driver it has.
type callersTx struct {
	tx               any
	exec             func(sql string) error
	commit, rollback func() error
}

// ways begins a transaction in each of the ways in which a program can.
func (c *caller) ways() map[string]func(isolation string) callersTx {
	byConn := func(mode pgx.QueryExecMode) func(isolation string) callersTx {
		return func(isolation string) callersTx {
			config, err := pgx.ParseConfig(pgtest.Shared(c.TB).DSN("postgres"))
			c.must(err)
			config.DefaultQueryExecMode = mode
			conn, err := pgx.ConnectConfig(context.Background(), config)
			c.must(err)
			c.Cleanup(func() { conn.Close(context.Background()) })
			tx, err := conn.BeginTx(context.Background(), pgx.TxOptions{IsoLevel: pgx.TxIsoLevel(isolation)})
			c.must(err)
			return ofPGX(tx)
		}
	}
	return map[string]func(isolation string) callersTx{
		"pgx pool": func(isolation string) callersTx {
			tx, err := c.pool.BeginTx(context.Background(), pgx.TxOptions{IsoLevel: pgx.TxIsoLevel(isolation)})
			c.must(err)
			return ofPGX(tx)
		},
		"pgx describing": byConn(pgx.QueryExecModeDescribeExec),
		"pgx exec":       byConn(pgx.QueryExecModeExec),
		"pgx simple":     byConn(pgx.QueryExecModeSimpleProtocol),
		"pgx nested": func(isolation string) callersTx {
			outer, err := c.pool.BeginTx(context.Background(), pgx.TxOptions{IsoLevel: pgx.TxIsoLevel(isolation)})
			c.must(err)
			tx, err := outer.Begin(context.Background())
			c.must(err)
			o := ofPGX(tx)
			o.commit = func() error { return errors.Join(tx.Commit(context.Background()), outer.Commit(context.Background())) }
			o.rollback = func() error { return outer.Rollback(context.Background()) }
			return o
		},
		"database/sql": func(isolation string) callersTx {
			tx, err := c.db.BeginTx(context.Background(), &sql.TxOptions{Isolation: map[string]sql.IsolationLevel{
				"": sql.LevelDefault, "repeatable read": sql.LevelRepeatableRead, "serializable": sql.LevelSerializable,
			}[isolation]})
			c.must(err)
			return callersTx{tx, func(sql string) error { _, err := tx.Exec(sql); return err }, tx.Commit, tx.Rollback}
		},
	}
}

func ofPGX(tx pgx.Tx) callersTx {
	return callersTx{
		tx,
		func(sql string) error { _, err := tx.Exec(context.Background(), sql); return err },
		func() error { return tx.Commit(context.Background()) },
		func() error { return tx.Rollback(context.Background()) },
	}
}

// within is the store inside a transaction.
func (c *caller) within(tx any) store.Transaction {
	c.Helper()
	in, err := c.Within(tx)
	c.must(err)
	return in
}

func (c *caller) orders() string {
	return c.value(`SELECT coalesce(string_agg(id, ' ' ORDER BY id), '') FROM perdure.orders`)
}

// TestE28_EveryConnectionWillDo: whatever driver and mode, at every isolation level,
// what is written there is committed or undone with the caller's own rows, and a
// refusal does not end the transaction.
func TestE28_EveryConnectionWillDo(t *testing.T) {
	c := newCaller(t, newWorld(t))
	c.exec(`CREATE TABLE perdure.orders (id text PRIMARY KEY)`)
	taken := c.created()
	for name, begin := range c.ways() {
		for _, isolation := range []string{"", "repeatable read", "serializable"} {
			t.Run(strings.TrimSuffix(name+"/"+isolation, "/"), func(t *testing.T) {
				before, ctx := c.orders(), t.Context()
				for _, commit := range []bool{false, true} {
					run, rival := c.newRun(), c.newRun()
					run.Start = []byte("\xff\x00 quotes ' and \\ and {braces, \"too\"}")
					run.Attributes = []store.Attribute{{Name: "a b", Value: `c,"d\{`}}
					rival.Partition, rival.WorkflowID = taken.Partition, taken.WorkflowID
					open := begin(isolation)
					defer func() { _ = open.rollback() }() // should the test end here
					in := c.within(open.tx)
					c.must(open.exec(c.sql(`INSERT INTO perdure.orders VALUES ('` + run.ID + `')`)))
					var conflict *store.ConflictError
					if err := in.Create(ctx, rival); !errors.As(err, &conflict) || conflict.Existing.ID != taken.ID || string(conflict.Existing.Start) != string(taken.Start) {
						t.Fatalf("got %v", err)
					}
					c.must(in.Create(ctx, run))
					c.must(in.Create(ctx, run))
					c.must(in.Post(ctx, store.Message{Partition: run.Partition, WorkflowID: run.WorkflowID, Key: "k", Data: []byte("\xff")}))
					if err := in.Post(ctx, store.Message{Partition: 1, WorkflowID: "nobody", Key: "k"}); !errors.Is(err, store.ErrNotFound) {
						t.Errorf("got %v", err)
					}
					found, err := in.Find(ctx, run.Partition, run.WorkflowID, "")
					c.must(err)
					if string(found.Start) != string(run.Start) || found.ID != run.ID {
						t.Errorf("found %+v", found)
					}
					// The settings of the transaction are the caller's: how durable it is, above all.
					c.must(open.exec(`SELECT 1 / (count(*) / 2) FROM pg_settings WHERE name IN ('synchronous_commit', 'lock_timeout') AND setting = reset_val`))
					if !commit {
						c.must(open.rollback())
						if _, err := c.Find(ctx, run.Partition, run.WorkflowID, ""); !errors.Is(err, store.ErrNotFound) || c.orders() != before {
							t.Errorf("after a rollback: %v, %q", err, c.orders())
						}
						continue
					}
					c.must(open.commit())
					found, err = c.Find(ctx, run.Partition, run.WorkflowID, "")
					if err != nil || string(found.Start) != string(run.Start) || !strings.Contains(c.orders(), run.ID) {
						t.Errorf("after a commit: %+v, %v, %q", found, err, c.orders())
					}
					if n := c.value(`SELECT count(*)::text FROM perdure.inbox WHERE workflow_id = $1`, run.WorkflowID); n != "2" {
						t.Errorf("%s messages", n)
					}
					if v := c.value(`SELECT value FROM perdure.attributes WHERE run = perdure.run_bytes($1)`, run.ID); v != run.Attributes[0].Value {
						t.Errorf("the attribute is %q", v)
					}
				}
			})
		}
	}
}

// TestE28_WhatASnapshotCannotSeeIsASerializationFailure, so that programs that do
// their transactions again do so.
func TestE28_WhatASnapshotCannotSeeIsASerializationFailure(t *testing.T) {
	c := newCaller(t, newWorld(t))
	for name, begin := range c.ways() {
		for _, isolation := range []string{"repeatable read", "serializable"} {
			open := begin(isolation)
			c.must(open.exec(`SELECT 1`)) // the snapshot
			taken := c.created()
			rival := c.newRun()
			rival.Partition, rival.WorkflowID = taken.Partition, taken.WorkflowID
			if err := c.within(open.tx).Create(t.Context(), rival); code(err) != serializationFailure {
				t.Errorf("%s, %s: got %v", name, isolation, err)
			}
			c.must(open.exec(`SELECT 1`)) // it can continue
			c.must(open.rollback())
		}
	}
}

// TestE28_OtherDatabasesAreRefused, also another schema's, and the transaction continues.
func TestE28_OtherDatabasesAreRefused(t *testing.T) {
	c := newCaller(t, newWorld(t))
	other := newWorld(t) // in the same database of the server, with another schema
	url := pgtest.Shared(t).Database(t)
	conn, err := pgx.Connect(t.Context(), url)
	c.must(err)
	defer conn.Close(context.Background())
	elsewhere, err := conn.Begin(t.Context())
	c.must(err)
	in := c.within(elsewhere)
	if err := in.Create(t.Context(), c.newRun()); !errors.Is(err, store.ErrTx) || !errors.Is(err, errElsewhere) {
		t.Errorf("got %v", err)
	}
	if _, err := elsewhere.Exec(t.Context(), `SELECT 1`); err != nil {
		t.Errorf("it cannot continue: %v", err)
	}
	// A database of the same names, which is another one all the same.
	twin := newWorldAt(t, url, Schema(c.schema))
	if twin.mark == c.mark || other.mark == c.mark {
		t.Fatal("two databases have one secret")
	}
	c.must(elsewhere.Rollback(t.Context()))
	elsewhere, err = conn.Begin(t.Context())
	c.must(err)
	for _, do := range []func(in store.Transaction) error{
		func(in store.Transaction) error { return in.Create(t.Context(), c.newRun()) },
		func(in store.Transaction) error {
			return in.Post(t.Context(), store.Message{Partition: 1, WorkflowID: "w", Key: "k", ForOwner: true})
		},
		func(in store.Transaction) error { _, err := in.Find(t.Context(), 1, "w", ""); return err },
	} {
		if err := do(c.within(elsewhere)); !errors.Is(err, store.ErrTx) || !errors.Is(err, errElsewhere) {
			t.Errorf("got %v", err)
		}
	}
	c.must(elsewhere.Commit(t.Context()))
	if n := twin.value(`SELECT count(*)::text FROM perdure.runs`) + twin.value(`SELECT count(*)::text FROM perdure.inbox`); n != "00" {
		t.Errorf("something was left there: %s", n)
	}
}

// TestE28_TransactionsThatAreNone are errors, never panics.
func TestE28_TransactionsThatAreNone(t *testing.T) {
	c := newCaller(t, newWorld(t))
	var noPool *pgxpool.Tx
	var noSQL *sql.Tx
	for _, tx := range []any{nil, noPool, noSQL, c.pool, c.db, 7} {
		if _, err := c.Within(tx); !errors.Is(err, store.ErrTx) {
			t.Errorf("%T: got %v", tx, err)
		}
	}
	for _, tx := range []any{&sql.Tx{}, &pgxpool.Tx{}} {
		if err := c.within(tx).Create(t.Context(), c.newRun()); !errors.Is(err, store.ErrTx) {
			t.Errorf("%T: got %v", tx, err)
		}
	}
	for name, begin := range c.ways() {
		open := begin("")
		in := c.within(open.tx)
		c.must(open.rollback())
		if err := in.Create(t.Context(), c.newRun()); err == nil || !strings.Contains(err.Error(), "ended") {
			t.Errorf("%s: got %v", name, err)
		}
		failed := begin("")
		if err := failed.exec(`SELECT 1/0`); err == nil {
			t.Error("one can divide by zero")
		}
		if err := c.within(failed.tx).Create(t.Context(), c.newRun()); err == nil || !strings.Contains(err.Error(), "has failed before") {
			t.Errorf("%s: got %v", name, err)
		}
		_ = failed.rollback()
	}
	// One that may only read.
	tx, err := c.pool.BeginTx(t.Context(), pgx.TxOptions{AccessMode: pgx.ReadOnly})
	c.must(err)
	defer tx.Rollback(context.Background())
	if err := c.within(tx).Create(t.Context(), c.newRun()); err == nil || !strings.Contains(err.Error(), "may only read") {
		t.Errorf("got %v", err)
	}
}

// TestE28_WhoMustWaitHoldsUpNobody: while a caller's transaction has a workflow ID, a
// turn that wants it is answered by itself, and clients wait without a connection.
func TestE28_WhoMustWaitHoldsUpNobody(t *testing.T) {
	c := newCaller(t, newWorld(t))
	ended := c.created()
	c.must(c.Post(t.Context(), store.Message{Partition: ended.Partition, WorkflowID: ended.WorkflowID, Key: "unread"}))
	end := c.turn(ended, 2)
	end.State = &store.RunState{Status: store.Completed, Wake: store.Never, Closed: 1}
	c.commits(end)
	var unread int64
	messages, err := c.Inbox(t.Context(), []int{ended.Partition}, store.InboxRead{})
	c.must(err)
	for _, m := range messages {
		if m.Key == "unread" {
			unread = m.Sequence
		}
	}
	held, after := c.newRun(), c.newRun()
	after.Partition, after.WorkflowID, after.After = ended.Partition, ended.WorkflowID, ended.ID
	tx, err := c.pool.Begin(t.Context())
	c.must(err)
	c.must(c.within(tx).Create(t.Context(), held))
	c.must(c.within(tx).Create(t.Context(), after))

	rival := c.newRun()
	rival.Partition, rival.WorkflowID = held.Partition, held.WorkflowID
	reader := c.turn(c.created(), 2) // has to remove what the caller moves
	reader.Partition, reader.Run, reader.Number, reader.Events = ended.Partition, ended.ID, 3, []byte(`[]`)
	reader.Consumed = []int64{unread}
	batch := []store.Turn{c.first(c.newRun()), c.first(rival), reader}
	for range 20 {
		batch = append(batch, c.first(c.newRun()))
	}
	result, err := c.Commit(t.Context(), batch)
	c.must(err)
	for i, err := range result.Errors {
		if waits := i == 1 || i == 2; store.Unavailable(err) != waits || (err != nil) != waits {
			t.Errorf("turn %d: %v", i, err)
		}
	}
	hurried, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := c.Create(hurried, rival); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errBlocked) {
		t.Errorf("got %v", err)
	}
	// More clients than there are connections.
	answers := make(chan error)
	rivals := cap(c.shared) + 3
	for range rivals {
		r := c.newRun()
		r.Partition, r.WorkflowID = held.Partition, held.WorkflowID
		go func() { answers <- c.Create(t.Context(), r) }()
	}
	c.commits(c.first(c.newRun()))
	if n, err := c.Delete(t.Context(), store.Deletion{Partition: ended.Partition, Runs: []string{ended.ID}}); n != 0 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	owned, err := c.Claim(t.Context(), c.node, []int{held.Partition, ended.Partition}) // waits for nobody either
	c.must(err)
	for i := range batch[:3] {
		for _, o := range owned {
			if batch[i].Partition == o.Partition {
				batch[i].Epoch = o.Epoch
			}
		}
	}
	c.must(tx.Commit(t.Context()))
	for range rivals {
		var conflict *store.ConflictError
		if err := <-answers; !errors.As(err, &conflict) || conflict.Existing.ID != held.ID {
			t.Errorf("a rival got %v", err)
		}
	}
	result, err = c.Commit(t.Context(), batch[1:3])
	c.must(err)
	var conflict *store.ConflictError
	if !errors.As(result.Errors[0], &conflict) || result.Errors[1] != nil {
		t.Errorf("afterwards: %v", result.Errors)
	}
}

// TestE28_HooksTellAfterTheCommit: what the store commits itself needs no notification
// in the transaction, for which commits would wait for one another.
func TestE28_HooksTellAfterTheCommit(t *testing.T) {
	c := newCaller(t, newWorld(t))
	step := c.first(c.newRun())
	step.Hook = func(tx any) error {
		in := c.within(tx).(*guest)
		b := &batch{h: c.handle}
		in.news(b)
		if len(b.QueuedQueries) > 0 {
			t.Error("the hook's transaction would notify")
		}
		return in.Create(t.Context(), c.newRun())
	}
	heard := make(chan string, 10)
	conn, err := pgx.Connect(t.Context(), pgtest.Shared(t).DSN("postgres"))
	c.must(err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), `LISTEN `+pgx.Identifier{c.schema}.Sanitize())
	c.must(err)
	listening, stop := context.WithCancel(t.Context())
	var listener sync.WaitGroup
	defer listener.Wait()
	defer stop()
	listener.Go(func() {
		for {
			n, err := conn.WaitForNotification(listening)
			if err != nil {
				return
			}
			heard <- fmt.Sprint(n.PID)
		}
	})
	c.commits(step)
	<-heard
	tx, err := c.pool.Begin(t.Context())
	c.must(err)
	pid := tx.Conn().PgConn().PID()
	c.must(c.within(tx).Create(t.Context(), c.newRun()))
	c.must(tx.Commit(t.Context()))
	if got := <-heard; got != fmt.Sprint(pid) {
		t.Errorf("the news is from %s, not from %d, which committed", got, pid)
	}
}

// TestE28_WhoEndsTheTransactionOfTransactIsTold, and nothing is left of it.
func TestE28_WhoEndsTheTransactionOfTransactIsTold(t *testing.T) {
	s := newShop(t)
	for name, do := range map[string]func(tx pgx.Tx) error{
		"Commit":   func(tx pgx.Tx) error { return tx.Commit(t.Context()) },
		"Rollback": func(tx pgx.Tx) error { return tx.Rollback(t.Context()) },
		"Script":   func(tx pgx.Tx) error { _, err := tx.Exec(t.Context(), "ROLLBACK"); return err },
		"Failed":   func(tx pgx.Tx) error { _, _ = tx.Exec(t.Context(), "SELECT 1/0"); return nil },
		"Left":     func(pgx.Tx) error { return store.ErrHookLeft },
	} {
		err := s.Transact(t.Context(), func(tx any) error {
			return errors.Join(s.insert(name)(tx.(pgx.Tx)), do(tx.(pgx.Tx)))
		})
		if hook, ok := errors.AsType[*store.HookError](err); !ok || hook == nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if s.orders() != "" {
		t.Errorf("left is %q", s.orders())
	}
	s.must(s.Transact(t.Context(), func(tx any) error { return s.insert("good")(tx.(pgx.Tx)) }))
	if s.orders() != "good" {
		t.Errorf("left is %q", s.orders())
	}
}
