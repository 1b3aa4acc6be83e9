package sqlite

import (
	"context"
	"errors"

	"github.com/perdure/perdure/store"
)

// pool hands out a fixed number of connections, opened when first needed. A
// caller that must wait waits in Go and heeds its context; nothing waits inside
// SQLite for a lock that this process holds.
type pool struct {
	dsn    string
	closed <-chan struct{}
	free   chan *conn // nil stands for a connection that is not open yet
}

func newPool(dsn string, size int, closed <-chan struct{}) *pool {
	p := &pool{dsn: dsn, closed: closed, free: make(chan *conn, size)}
	for range size {
		p.free <- nil
	}
	return p
}

// get waits for a connection. The caller must put it back.
func (p *pool) get(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-p.closed:
		return nil, store.ErrStoreClosed
	default:
	}
	select {
	case <-p.closed:
		return nil, store.ErrStoreClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	case c := <-p.free:
		return p.ready(ctx, c)
	}
}

// tryGet is get without waiting: nil if no connection is free.
func (p *pool) tryGet(ctx context.Context) (*conn, error) {
	select {
	case c := <-p.free:
		return p.ready(ctx, c)
	default:
		return nil, nil
	}
}

func (p *pool) ready(ctx context.Context, c *conn) (*conn, error) {
	if c != nil {
		return c, nil
	}
	c, err := connect(ctx, p.dsn)
	if err != nil {
		p.free <- nil
		return nil, err
	}
	return c, nil
}

// put gives a connection back. A broken one is closed, and opened anew for the
// next caller.
func (p *pool) put(c *conn, broken bool) {
	if broken && c != nil {
		c.close() // it is given up in any case
		c = nil
	}
	p.free <- c
}

// drain waits until all connections are back and closes them. No caller gets
// one any more.
func (p *pool) drain() error {
	var errs []error
	for range cap(p.free) {
		if c := <-p.free; c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(errs...)
}
