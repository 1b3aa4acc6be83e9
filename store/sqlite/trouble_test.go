package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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

func TestE84_WriterOfAnotherProgramIsWaitedForAndThenUnavailable(t *testing.T) {
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
	if !store.Unavailable(err) || !store.Undone(err) || !strings.Contains(err.Error(), "Commit") {
		t.Fatalf("got %v, want an Unavailable error that says that nothing was written", err)
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
	if err := commitAll(t.Context(), h, firstTurn(epoch, "r")); err != nil {
		t.Error(err)
	}
	// Another connection sees only what is committed.
	if record, err := h.Load(t.Context(), 0, "r"); err != nil || len(record.Turns) != 1 {
		t.Errorf("the commit ran in somebody else's transaction: %+v, %v", record, err)
	}
}

// TestI9_ARefusedStatementCostsItsTurn: SQLite refuses a statement that only one of three
// turns needs. The others are durable, and the one is told what was refused.
func TestI9_ARefusedStatementCostsItsTurn(t *testing.T) {
	h, epoch := owned(t)
	alter := func(from, to string) {
		t.Helper()
		err := h.write(t.Context(), "test", func(c *conn) error { return c.script("ALTER TABLE " + from + " RENAME TO " + to) })
		if err != nil {
			t.Fatal(err)
		}
	}
	alter("tasks", "elsewhere")
	turns := []store.Turn{firstTurn(epoch, "a"), firstTurn(epoch, "b"), firstTurn(epoch, "c")}
	turns[1].Offered = []store.Task{{TaskRef: store.TaskRef{Run: "b", Number: 1, Attempt: 1}, WorkflowID: "workflow-b", Queue: "q", Name: "n", Data: []byte("1")}}
	result, err := h.Commit(t.Context(), turns)
	if err != nil || result.Errors[0] != nil || result.Errors[2] != nil {
		t.Fatal(result.Errors, err)
	}
	if err := result.Errors[1]; !store.Refused(err) || !store.Undone(err) || !strings.Contains(err.Error(), "no such table") {
		t.Errorf("the turn got %v", err)
	}
	alter("elsewhere", "tasks")
	if err := commitAll(t.Context(), h, turns...); err != nil {
		t.Error(err)
	}
}
