package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/store"
)

// owned opens a database and owns its partition.
func owned(t *testing.T, options ...Option) (h *handle, epoch int64) {
	t.Helper()
	s, err := File(filepath.Join(t.TempDir(), "test.db"), options...).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	if err := s.Join(t.Context(), store.Node{ID: "n"}); err != nil {
		t.Fatal(err)
	}
	o, err := s.Claim(t.Context(), "n", []int{0})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*handle), o[0].Epoch
}

func firstTurn(epoch int64, id string) store.Turn {
	run := store.Run{ID: id, WorkflowID: "workflow-" + id, Type: "test", Chain: id, RunState: store.RunState{Status: store.Running}}
	return store.Turn{Epoch: epoch, Run: id, Create: &run, Number: 1, CommitID: 1, Events: []byte("[]")}
}

func commitAll(ctx context.Context, s store.Store, turns ...store.Turn) error {
	result, err := s.Commit(ctx, turns)
	return errors.Join(append(result.Errors, err)...)
}

func TestE64_FullDiskIsUnavailableUntilThereIsRoom(t *testing.T) {
	h, epoch := owned(t)
	if err := commitAll(t.Context(), h, firstTurn(epoch, "r")); err != nil {
		t.Fatal(err)
	}
	limit := func(pages int64) {
		err := h.hold(t.Context(), h.writer, "limit", func(c *conn) error {
			if pages > 0 {
				var used int64
				if _, err := c.one("PRAGMA page_count", []*int64{&used}); err != nil {
					return err
				}
				pages += used
			} else {
				pages = 1 << 30
			}
			return c.script(fmt.Sprintf("PRAGMA max_page_count = %d", pages))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	big := store.Turn{Epoch: epoch, Run: "r", Number: 2, CommitID: 2, Events: bytes.Repeat([]byte("x"), 1<<20)}
	small := firstTurn(epoch, "s")
	for range 3 {
		limit(5) // again: the connection may be a new one
		err := commitAll(t.Context(), h, small, big)
		if !store.Unavailable(err) || !strings.Contains(err.Error(), "full") {
			t.Fatalf("got %v, want an Unavailable error that says full", err)
		}
		if turns, err := h.History(t.Context(), 0, "r", 0, 0); err != nil || len(turns) != 1 {
			t.Fatalf("%d turns, %v", len(turns), err)
		}
	}
	limit(0)
	if err := commitAll(t.Context(), h, small, big); err != nil {
		t.Fatal(err)
	}
}

func TestWriterOfAnotherProgramIsWaitedForAndThenUnavailable(t *testing.T) {
	h, epoch := owned(t)
	other, err := connect(t.Context(), dsn(h.path, "rw"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if _, err := other.exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	err = commitAll(t.Context(), h, firstTurn(epoch, "r"))
	if !store.Unavailable(err) || !strings.Contains(err.Error(), "Commit") {
		t.Fatalf("got %v, want an Unavailable error", err)
	}
	// Readers do not wait for writers.
	if _, err := h.List(t.Context(), store.Filter{}); err != nil {
		t.Error(err)
	}
	if _, err := other.exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := commitAll(t.Context(), h, firstTurn(epoch, "r")); err != nil {
		t.Error(err)
	}
}

func TestCanceledCommitIsDurableOrNeverBegan(t *testing.T) {
	h, epoch := owned(t, Durability(Normal))
	const callers, each = 6, 40
	var wg sync.WaitGroup
	for w := range callers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("r-%d-%d", w, i)
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				err := commitAll(ctx, h, firstTurn(epoch, id))
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", id, err)
				}
				_, missing := h.Find(t.Context(), 0, "", id)
				if (err == nil) != (missing == nil) {
					t.Errorf("%s was answered %v and reading it %v", id, err, missing)
				}
			}
		})
	}
	wg.Wait()
}

func TestCanceledReadersHarmNobody(t *testing.T) {
	h, epoch := owned(t, Durability(Normal))
	var turns []store.Turn
	for i := range 300 {
		turns = append(turns, firstTurn(epoch, fmt.Sprintf("r-%03d", i)))
	}
	if err := commitAll(t.Context(), h, turns...); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				if _, err := h.List(ctx, store.Filter{Limit: 300}); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if _, err := h.Load(ctx, 0, "r-007"); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if record, err := h.Load(t.Context(), 0, "r-007"); err != nil || len(record.Turns) != 1 {
					t.Errorf("%+v, %v", record, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestBrokenConnectionIsReplaced(t *testing.T) {
	h, epoch := owned(t)
	// A connection in any odd state must not make all later commits fail.
	err := h.hold(t.Context(), h.writer, "spoil", func(c *conn) error {
		_, err := c.exec("BEGIN")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := commitAll(t.Context(), h, firstTurn(epoch, "r")); err == nil {
		t.Fatal("the commit ran in somebody else's transaction")
	}
	if err := commitAll(t.Context(), h, firstTurn(epoch, "r")); err != nil {
		t.Error(err)
	}
}

func TestPayloadsAreReadableInTheShell(t *testing.T) {
	h, epoch := owned(t)
	turn := firstTurn(epoch, "r")
	turn.Events = []byte(`[{"ü":1}]`)
	binary := store.Turn{Epoch: epoch, Run: "r", Number: 2, CommitID: 2, Events: []byte("a\x00b")}
	if err := commitAll(t.Context(), h, turn, binary); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := h.read(t.Context(), "types", func(c *conn) error {
		return c.query(t.Context(), "SELECT typeof(events) FROM turns ORDER BY number", func(r row) error {
			got = append(got, r.text(0))
			return nil
		})
	})
	if err != nil || fmt.Sprint(got) != "[text blob]" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestQueriesUseIndexes(t *testing.T) {
	h, epoch := owned(t)
	ctx := t.Context()
	turn := firstTurn(epoch, "r")
	turn.State = &store.RunState{Status: store.Running}
	turn.Calls = []store.Call{{Number: 1, State: store.Queued}}
	turn.Closed, turn.Consumed = []int64{2}, []int64{3}
	turn.Attempts = []store.Attempt{{Call: 1, Number: 2, Prune: 1}}
	turn.Messages = []store.Message{{WorkflowID: "workflow-r", Key: "k"}}
	err := errors.Join(
		commitAll(ctx, h, turn),
		commitAll(ctx, h, turn), // again, which reads more
		commitAll(ctx, h, store.Turn{Epoch: epoch, Run: "q", Number: 1, Create: firstTurn(epoch, "r").Create}),
		h.Create(ctx, *firstTurn(epoch, "s").Create),
		h.Post(ctx, store.Message{WorkflowID: "workflow-r", Key: "l"}),
		h.Post(ctx, store.Message{WorkflowID: "workflow-r", Run: "r", Key: "m"}),
	)
	if !errors.Is(err, store.ErrNotFound) { // of the third
		t.Fatal(err)
	}
	h.Due(ctx, 0, -1, 100, 1)
	h.Inbox(ctx, 0, 0, 1)
	h.Load(ctx, 0, "r")
	h.Find(ctx, 0, "w", "")
	h.Attempts(ctx, 0, "r", 0)
	h.Attempts(ctx, 0, "r", 1)
	h.Owners(ctx, 0)
	h.Counts(ctx)
	for _, filter := range []store.Filter{{}, {Status: []store.Status{store.Running, store.Failed}}, {Type: "t", IDPrefix: "w", Before: "z"}, {Call: store.Queued}} {
		h.List(ctx, filter)
	}
	tiny := []string{"SCAN partitions", "SCAN nodes", "SCAN sqlite_master"}
	checked := 0
	for _, p := range []*pool{h.reader, h.writer} {
		err := h.hold(ctx, p, "explain", func(c *conn) error {
			for _, query := range slices.Collect(maps.Keys(c.stmts)) {
				if word, _, _ := strings.Cut(query, " "); !slices.Contains([]string{"SELECT", "UPDATE", "DELETE", "INSERT"}, word) {
					continue
				}
				checked++
				err := c.query(ctx, "EXPLAIN QUERY PLAN "+strings.ReplaceAll(query, "?", "1"), func(r row) error {
					plan := r.text(3)
					scans := strings.HasPrefix(plan, "SCAN") && !slices.Contains(tiny, plan) && !strings.Contains(plan, "CONSTANT ROW")
					sorts := strings.Contains(plan, "TEMP B-TREE") && !strings.Contains(query, "id IN")
					if scans || sorts {
						t.Errorf("%s\n\t%s", query, plan)
					}
					return nil
				})
				if err != nil {
					return fmt.Errorf("%s: %w", query, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked < 35 {
		t.Errorf("only %d queries were looked at", checked)
	}
}

func TestVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := owned(t, Exclusive())
		client, err := File(h.path, Exclusive()).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		var heard []time.Time
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Listen(ctx, func() { heard = append(heard, time.Now()) }) }()
		synctest.Wait()
		heard = nil
		time.Sleep(365 * 24 * time.Hour) // polling would take 1.6 billion looks
		if len(heard) > 0 {
			t.Errorf("heard %v while nothing was posted", heard)
		}
		run := *firstTurn(0, "r").Create
		if err := client.Create(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(heard) != 1 || !heard[0].Equal(time.Now()) {
			t.Errorf("heard %v, want one at once, at %v", heard, time.Now())
		}
		inbox, err := client.Inbox(t.Context(), 0, 0, 0)
		if err != nil || inbox[0].Posted != time.Now().UnixNano() {
			t.Errorf("the store's time is %+v, %v; want the virtual one", inbox, err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestListenPollsWithoutNoise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, epoch := owned(t)
		heard := 0
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Listen(ctx, func() { heard++ }) }()
		time.Sleep(time.Second)
		heard = 0
		for i := range 10 { // our own commits are no news
			if err := commitAll(t.Context(), h, firstTurn(epoch, fmt.Sprint(i)), store.Turn{Epoch: epoch, Run: fmt.Sprint(i), Number: 2}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if heard > 0 {
			t.Errorf("heard %d times of turns that told nobody anything", heard)
		}
		// Another program's write, which nobody announces.
		other, err := connect(t.Context(), dsn(h.path, "rw"))
		if err != nil {
			t.Fatal(err)
		}
		defer other.close()
		if _, err := other.exec("INSERT INTO meta VALUES ('x', 'y')"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		if heard != 1 {
			t.Errorf("heard %d times of another program's write within 100 ms, want once", heard)
		}
		cancel()
		<-ended
	})
}

func TestSchemaIsMarkedAsOurs(t *testing.T) {
	h, _ := owned(t)
	err := h.read(t.Context(), "identify", func(c *conn) error {
		version, empty, err := identify(c, h.path)
		if version != int64(len(migrations)) || empty {
			t.Errorf("version %d of %d, empty: %v", version, len(migrations), empty)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
