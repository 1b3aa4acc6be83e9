package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

func (h *handle) Transact(ctx context.Context, f func(tx any) error) error {
	var hook *store.HookError
	err := h.share(ctx, "Transact", func(c *conn) error {
		hook = nil
		t := store.Turn{Hook: f}
		err := c.transact(ctx, func(tx pgx.Tx) error {
			if err := c.send(ctx, (*batch).limitIdleness); err != nil {
				return err
			}
			k := &resultWriter{commit: &commit{h: h}, c: c, tx: tx}
			err := k.runHook(ctx, &t)
			switch code(err) {
			case noTransaction, noSavepoint: // its function ended it
				return &store.HookError{Err: errEnded}
			}
			return err
		})
		if errors.As(err, &hook) {
			if c.cut(hook) {
				hook = nil
				return undone(foreign(err))
			}
			return nil // a hook's error is not the store's
		}
		if err == nil && c.guests.Load() {
			c.notify(ctx, store.NewsMessage)
		}
		return err
	})
	if hook != nil {
		return hook
	}
	return err
}

// cut reports whether the connection was lost below a hook, so that the hook's error comes
// from that. The driver also closes a connection itself, when the context of a waiting call
// ends.
func (c *conn) cut(hook *store.HookError) bool {
	return !c.left && c.raw.IsClosed() && !errors.Is(hook, context.Canceled) && !errors.Is(hook, context.DeadlineExceeded)
}
