package sqlite

import (
	"context"
	"errors"
	"sync"

	"github.com/perdure/perdure/store"
)

// pool hands out a limited number of connections, opened when first needed. Callers wait in
// Go and follow their context; nothing waits inside SQLite for a lock that this process
// holds.
type pool struct {
	dsn    string
	closed <-chan struct{}
	slots  chan struct{} // one value per connection that may be taken

	mu   sync.Mutex
	idle []*conn // most recently used last
}

func newPool(dsn string, size int, closed <-chan struct{}) *pool {
	p := &pool{dsn: dsn, closed: closed, slots: make(chan struct{}, size)}
	for range size {
		p.slots <- struct{}{}
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
	case <-p.slots:
		return p.ready(ctx)
	}
}

// tryGet is get without waiting. It returns nil if all connections are taken.
func (p *pool) tryGet(ctx context.Context) (*conn, error) {
	select {
	case <-p.slots:
		return p.ready(ctx)
	default:
		return nil, nil
	}
}

// ready finds or opens a connection for the slot that the caller took.
func (p *pool) ready(ctx context.Context) (*conn, error) {
	if c := p.pop(); c != nil {
		return c, nil
	}
	c, err := connect(ctx, p.dsn)
	if err != nil {
		p.slots <- struct{}{}
		return nil, err
	}
	return c, nil
}

// pop returns the most recently used idle connection, whose statements are prepared and
// whose pages are cached, or nil.
func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := len(p.idle) - 1
	c := p.idle[last]
	p.idle = p.idle[:last]
	return c
}

// put gives a connection back. It closes a broken one, which is reopened when needed.
func (p *pool) put(c *conn, broken bool) {
	if broken {
		c.close() // given up even if Close fails
	} else {
		p.mu.Lock()
		p.idle = append(p.idle, c)
		p.mu.Unlock()
	}
	p.slots <- struct{}{}
}

// drain waits until all connections are back and closes them. After that the pool hands out
// none.
func (p *pool) drain() error {
	for range cap(p.slots) {
		<-p.slots
	}
	var errs []error
	for c := p.pop(); c != nil; c = p.pop() {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}
