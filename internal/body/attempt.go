package body

import (
	"context"
	"errors"
	"sync"

	"github.com/perdure/perdure/retry"
)

// Attempt is what the context of a running body leads to. Package activity embeds it in
// the value that it keeps under [Key].
type Attempt struct {
	Link    Link            // nil: heartbeats go nowhere
	Values  context.Context // has values beside those of the context's parent; nil: none
	commits commits
}

// Link is how a body reaches the engine that runs its attempt. Its methods are safe for
// concurrent use.
type Link interface {
	// Heartbeat takes a sign of life. Nil means no details.
	Heartbeat(details any) error
	// Details decodes what an earlier attempt said into what into points to.
	Details(into any) (bool, error)
	// Token is the one by which any process can complete the attempt.
	Token() string
}

// Key is the key of an attempt in its context.
type Key struct{}

func (a *Attempt) attempt() *Attempt { return a }

// In returns the attempt of a context, nil outside of bodies.
func In(ctx context.Context) *Attempt {
	if holder, ok := ctx.Value(Key{}).(interface{ attempt() *Attempt }); ok {
		return holder.attempt()
	}
	return nil
}

// OnCommit adds a function for the transaction that records the result.
func (a *Attempt) OnCommit(f func(ctx context.Context, tx any) error) error { return a.commits.add(f) }

// Commits ends the time in which OnCommit takes functions, and returns one that runs
// those it took, in order, until one fails; nil if there are none.
func (a *Attempt) Commits() func(ctx context.Context, tx any) error {
	all := a.commits.close()
	if len(all) == 0 {
		return nil
	}
	return func(ctx context.Context, tx any) error {
		for _, f := range all {
			if err := f(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	}
}

// commits are the functions for one attempt.
type commits struct {
	mu     sync.Mutex // a body may have goroutines
	all    []func(ctx context.Context, tx any) error
	closed bool
}

func (c *commits) add(f func(ctx context.Context, tx any) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return retry.Terminal(errors.New("activity.OnCommit: the body has returned before; what it still does is too late for its transaction"))
	}
	c.all = append(c.all, f)
	return nil
}

func (c *commits) close() []func(ctx context.Context, tx any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return c.all
}
