package request

import (
	"context"
	"errors"

	"github.com/perdure/perdure/store"
)

// Transact runs f inside a transaction of the database. Everything that f writes there is
// committed, or nothing is.
func (c *Client) Transact(ctx context.Context, f func(ctx context.Context, tx any) error) error {
	if err := c.check(ctx); err != nil {
		return err
	}
	err := c.db.Transact(ctx, func(tx any) error { return c.runner.Run(ctx, f, tx) })
	if hook, ok := errors.AsType[*store.HookError](err); ok {
		return hook.Err
	}
	return err
}
