package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
)

// TestE83_ServerCrashes stops the server the hard way while turns are committed
// and messages posted, and starts it again, a few times. Who got no answer asks
// again with the same bytes. In the end everything is there that was
// acknowledged, once.
func TestE83_ServerCrashes(t *testing.T) {
	server := pgtest.Start(t)
	w := newWorldAt(t, server.DSN("postgres"))
	mailbox := w.created()
	var acknowledged, asked atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	persist := func(f func() error) bool {
		for {
			asked.Add(1)
			err := f()
			if err == nil {
				acknowledged.Add(1)
				return true
			}
			if !store.Unavailable(err) {
				t.Error(err)
				return false
			}
			time.Sleep(time.Millisecond) // as anybody would
		}
	}
	var runs []store.Run
	turns := make([]int64, 4)
	for i := range turns {
		run := w.newRun()
		runs = append(runs, run)
		wg.Go(func() {
			for ctx.Err() == nil {
				turn := w.turn(run, turns[i]+1)
				if turn.Number == 1 {
					turn.Create = &run
				}
				if !persist(w.committing(turn)) {
					return
				}
				turns[i]++
			}
		})
	}
	posts := int64(0)
	wg.Go(func() {
		for ctx.Err() == nil {
			m := store.Message{Partition: mailbox.Partition, WorkflowID: mailbox.WorkflowID, Key: time.Now().String()}
			if !persist(func() error { return w.Post(context.Background(), m) }) {
				return
			}
			posts++
		}
	})
	listening := make(chan error, 1)
	heard := make(chan struct{}, 1)
	go func() {
		listening <- w.Listen(ctx, func(store.News) {
			select {
			case heard <- struct{}{}:
			default:
			}
		})
	}()
	<-heard
	for range 3 {
		had := acknowledged.Load()
		w.eventually("something is acknowledged", func() bool { return acknowledged.Load() > had+50 || t.Failed() })
		server.Crash(t)
		server.Restart(t)
	}
	had := acknowledged.Load()
	w.eventually("something is acknowledged", func() bool { return acknowledged.Load() > had+50 || t.Failed() })
	stop()
	wg.Wait()
	if err := <-listening; !store.Unavailable(err) && !errors.Is(err, context.Canceled) {
		t.Errorf("Listen answered %v", err)
	}
	for i, run := range runs {
		history, err := w.History(t.Context(), run.Partition, run.ID, 0, 0)
		w.must(err)
		if int64(len(history)) != turns[i] {
			t.Errorf("%s: %d turns were acknowledged, %d are there", run.ID, turns[i], len(history))
		}
		for n, row := range history {
			if row.Number != int64(n+1) {
				t.Errorf("%s: turn %d at place %d", run.ID, row.Number, n)
			}
		}
	}
	inbox, err := w.Inbox(t.Context(), []int{mailbox.Partition}, store.InboxRead{})
	w.must(err)
	if int64(len(inbox)) != posts {
		t.Errorf("%d posts were acknowledged, %d are there", posts, len(inbox))
	}
	if asked.Load() == acknowledged.Load() {
		t.Error("nobody had to ask twice: the test proves nothing")
	}
	t.Logf("%d acknowledged of %d asked", acknowledged.Load(), asked.Load())
}

// TestE83_ADeadNetworkHoldsNobodyUp loses every packet: a verb ends with its
// context, and leaves nothing that is in the way afterwards.
func TestE83_ADeadNetworkHoldsNobodyUp(t *testing.T) {
	p := newProxy(t, pgtest.Shared(t).Socket())
	schema := Schema(freshSchema())
	w := newWorldAt(t, p.dsn("postgres"), schema)
	run := w.created()
	p.silence()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := w.Commit(ctx, []store.Turn{w.turn(run, 2)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	begun := time.Now()
	w.must(w.Close())
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("Close took %s", took)
	}
	p.cutAll() // the server notices that the client is gone
	s, err := URL(pgtest.Shared(t).DSN("postgres"), schema).Open(t.Context())
	w.must(err)
	defer s.Close()
	w.must(s.Join(t.Context(), w.describe("node-2")))
	w.must(s.Leave(t.Context(), w.node)) // waits for whatever holds the partitions
	owned, err := s.Claim(t.Context(), "node-2", []int{0, 1, 2, 3})
	w.must(err)
	if len(owned) != 4 {
		t.Errorf("claimed %+v", owned)
	}
}

// TestE83_ReadOnlyServers are standbys, or primaries that were demoted.
func TestE83_ReadOnlyServers(t *testing.T) {
	w := newWorldAt(t, pgtest.Database(t)+"&pool_max_conns=1")
	run := w.created()
	t.Run("while open", func(t *testing.T) {
		w.exec(`SET default_transaction_read_only = on`)
		if _, err := w.Commit(t.Context(), []store.Turn{w.turn(run, 2)}); !store.Unavailable(err) {
			t.Fatalf("got %v", err)
		}
		w.eventually("another connection is used", func() bool { return w.committing(w.turn(run, 2))() == nil })
	})
	t.Run("to open", func(t *testing.T) {
		name := w.pool.Config().ConnConfig.Database
		w.exec(`ALTER DATABASE ` + name + ` SET default_transaction_read_only = on`)
		_, err := w.opener.Open(t.Context())
		if !store.Unavailable(err) {
			t.Fatalf("got %v", err)
		}
		t.Log(err)
	})
}

// TestE1_CommitsAreDurableWhereTheDefaultIsThatTheyAreNot and see what they must
// where the default is that they do not.
func TestE1_CommitsAreDurableWhereTheDefaultIsThatTheyAreNot(t *testing.T) {
	dsn := pgtest.Database(t)
	owner := newWorldAt(t, dsn)
	name := owner.pool.Config().ConnConfig.Database
	owner.exec(`ALTER DATABASE ` + name + ` SET synchronous_commit = off`)
	owner.exec(`ALTER DATABASE ` + name + ` SET default_transaction_isolation = 'repeatable read'`)
	w := &world{TB: t, opener: owner.opener, epoch: owner.epoch}
	w.handle = w.another()
	run := w.created()
	turn := w.turn(run, 2)
	turn.Hook = func(tx any) error {
		var level, isolation string
		err := tx.(pgx.Tx).QueryRow(t.Context(), `SELECT current_setting('synchronous_commit'), current_setting('transaction_isolation')`).Scan(&level, &isolation)
		if level != "on" || isolation != "read committed" {
			t.Errorf("synchronous_commit is %s, the isolation level %s", level, isolation)
		}
		return err
	}
	w.commits(turn)
	// The usual commit, which has no hook, is seen by a trigger.
	w.exec(`CREATE TABLE perdure.seen (level text)`)
	w.exec(`CREATE FUNCTION perdure.look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO perdure.seen VALUES (current_setting('synchronous_commit') || ', ' || current_setting('transaction_isolation')); RETURN NULL; END $$`)
	w.exec(`CREATE TRIGGER look AFTER INSERT ON perdure.turns FOR EACH STATEMENT EXECUTE FUNCTION perdure.look()`)
	w.commits(w.turn(run, 3))
	if got := w.value(`SELECT string_agg(level, '; ') FROM perdure.seen`); got != "on, read committed" {
		t.Errorf("a commit saw %s", got)
	}
}
