package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/perdure/perdure/store"
)

// cutOff ends the connection of a transaction, as a network does.
const cutOff = `SELECT pg_terminate_backend(pg_backend_pid())`

func TestE84_ATransactionThatLostItsConnectionIsUndone(t *testing.T) {
	w := newWorld(t)
	c := newCaller(t, w)
	for name, begin := range c.ways() {
		t.Run(name, func(t *testing.T) {
			tx := begin("")
			_ = tx.exec(cutOff) // it has no answer
			run := w.newRun()
			within, err := w.Within(tx.tx)
			w.must(err)
			err = within.Create(t.Context(), run)
			if !store.Undone(err) || !strings.Contains(err.Error(), "begin it again") {
				t.Errorf("got %v, which does not say that nothing was written", err)
			}
			_ = tx.rollback()
			if _, err := w.Find(t.Context(), run.Partition, run.WorkflowID, ""); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("the run is there: %v", err)
			}
		})
	}
}

func TestE84_TransactSaysThatALostConnectionUndidIt(t *testing.T) {
	w := newWorld(t)
	run := w.newRun()
	create := func(tx any) error {
		within, err := w.Within(tx)
		return errors.Join(err, within.Create(t.Context(), run))
	}
	err := w.Transact(t.Context(), func(tx any) error {
		if _, err := tx.(pgx.Tx).Exec(t.Context(), cutOff); err == nil {
			t.Error("the connection lives")
		}
		return create(tx)
	})
	if !store.Unavailable(err) || !store.Undone(err) {
		t.Errorf("got %v, which does not say that nothing was written", err)
	}
	w.must(w.Transact(t.Context(), create))
	// The function's own time is no fault of the network.
	err = w.Transact(t.Context(), func(tx any) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := tx.(pgx.Tx).Exec(ctx, `SELECT 1`)
		return err
	})
	if hook := (*store.HookError)(nil); !errors.As(err, &hook) || store.Unavailable(err) {
		t.Errorf("got %v, want the error of the function", err)
	}
}

func TestE84_ARefusalOfTheServerIsUndoneAndALostAnswerIsNot(t *testing.T) {
	for code, want := range map[string]bool{
		lockNotAvailable: true, "53100": true, "57014": false, "57P01": false, "08006": false, "": false,
	} {
		h := &handle{closed: make(chan struct{})}
		var cause error = errors.New("unexpected EOF")
		if code != "" {
			cause = &pgconn.PgError{Code: code}
		}
		if got := store.Undone(h.fail(t.Context(), "Create", foreign(cause))); got != want {
			t.Errorf("%q: undone is %v", code, got)
		}
	}
}
