package engine

import (
	"context"
	"time"
)

// bells tell those here who wait for something in the database that it may be there.
// Who listens reads the database first, for it may have been written elsewhere.
// Guarded by the engine's mu.
type bells map[string]*bell

type bell struct {
	rung      chan struct{} // closed when it rings
	listeners int
}

// bellOf begins to listen for a name, until leave is called. It must be called
// before the database is read.
func (e *Engine) bellOf(name string) (rung <-chan struct{}, leave func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.bells[name]
	if b == nil {
		b = &bell{rung: make(chan struct{})}
		e.bells[name] = b
	}
	b.listeners++
	return b.rung, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if b.listeners--; b.listeners == 0 && e.bells[name] == b {
			delete(e.bells, name)
		}
	}
}

// ring tells those who listen for a name. The engine's mu is held.
func (e *Engine) ring(name string) {
	if b := e.bells[name]; b != nil {
		close(b.rung)
		delete(e.bells, name)
	}
}

// sleepUntil is sleep, until a bell rings.
func (e *Engine) sleepUntil(ctx context.Context, d time.Duration, rung <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-rung:
	case <-ctx.Done():
		return ctx.Err()
	case <-e.ctx.Done():
		return ErrStopped
	}
	return nil
}
