package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
)

// A file has one writer, which is the store's connection. The only transactions that others
// can share are therefore those that the store lends: to hooks, and to Transact.

func (h *handle) Transact(ctx context.Context, f func(tx any) error) error {
	posted := false
	t := store.Turn{Hook: f}
	var failed error
	err := h.write(ctx, "Transact", func(c *conn) error {
		c.visited = false
		failed = h.runHook(c, &t)
		posted = c.visited
		return failed
	})
	if hook, ok := errors.AsType[*store.HookError](failed); ok {
		return hook // a hook's error is not the store's
	}
	if err == nil && posted {
		announce(h.path, store.NewsMessage)
	}
	return err
}

// guest is a lent transaction.
type guest struct {
	h  *handle
	tx *sql.Tx
}

func (h *handle) Within(tx any) (store.Transaction, error) {
	t, ok := tx.(*sql.Tx)
	if !ok {
		return nil, fmt.Errorf("%w: it is a %T; %w", store.ErrTx, tx, errNotLent)
	}
	if t == nil {
		return nil, fmt.Errorf("%w: it is nil", store.ErrTx)
	}
	return &guest{h, t}, nil
}

// errNotLent says where transactions come from.
var errNotLent = errors.New("an SQLite file has one writer at a time, the engine's own connection: take the *sql.Tx that perdure.Transact or activity.OnCommit hands out " + see.Transaction)

// visit is a verb that runs on the connection of a lent transaction. It travels there as
// the argument of a statement, so that database/sql makes sure that the transaction has not
// ended and nothing else uses the connection. The driver of any other database refuses it.
type visit func(h *handle, c *conn) error

// visitStatement is what another driver gets, if the call reaches it.
const visitStatement = "-- perdure"

// perform calls f on the connection of the transaction, in a savepoint: if f fails, nothing
// of it remains.
func (g *guest) perform(ctx context.Context, op string, f visit) (err error) {
	defer func() {
		if p := recover(); p != nil { // a *sql.Tx that sql.DB did not make
			err = fmt.Errorf("%w: it panics: %v", store.ErrTx, p)
		}
	}()
	visited := false
	var answer error
	_, err = g.tx.ExecContext(ctx, visitStatement, visit(func(h *handle, c *conn) error {
		visited = true
		if h.path != g.h.path {
			answer = fmt.Errorf("%w: it is in %s, and the engine's database is %s", store.ErrTx, h.path, g.h.path)
			return nil
		}
		answer = g.h.fail(op, h.visit(c, f))
		return nil
	}))
	switch {
	case visited:
		return answer
	case errors.Is(err, sql.ErrTxDone):
		return fmt.Errorf("%s: %w: it has ended: %w", op, store.ErrTx, err)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", store.ErrTx, errNotLent)
}

// visit runs a verb in a savepoint.
func (h *handle) visit(c *conn, f visit) error {
	if _, err := c.exec("SAVEPOINT perdure_visit"); err != nil {
		return err
	}
	err := f(h, c)
	if err == nil {
		c.visited = true
		_, err = c.exec("RELEASE perdure_visit")
		return err
	}
	if _, undo := c.exec("ROLLBACK TO perdure_visit"); undo != nil {
		return errors.Join(err, undo)
	}
	_, gone := c.exec("RELEASE perdure_visit")
	return errors.Join(err, gone)
}

func (g *guest) Create(ctx context.Context, run store.Run) error {
	if err := run.Validate(g.h.info); err != nil {
		return err
	}
	return g.perform(ctx, "Create", func(h *handle, c *conn) error {
		_, err := h.create(c, &run)
		return err
	})
}

func (g *guest) Post(ctx context.Context, m store.Message) error {
	if err := m.Validate(g.h.info); err != nil {
		return err
	}
	return g.perform(ctx, "Post", func(h *handle, c *conn) error { return h.postTo(c, &m) })
}

func (g *guest) Find(ctx context.Context, partition int, workflowID, run string) (found *store.Run, err error) {
	if err := g.h.info.Check(partition); err != nil {
		return nil, err
	}
	err = g.perform(ctx, "Find", func(_ *handle, c *conn) (err error) {
		found, err = c.findRun(context.Background(), partition, workflowID, run)
		return err
	})
	return found, err
}
