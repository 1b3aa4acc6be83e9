package seal

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/perdure/perdure/retry"
)

// Attempt is the running attempt that the context of a body leads to. Package activity
// embeds it in the value that it keeps under [AttemptKey].
type Attempt struct {
	Link    AttemptLink     // nil: heartbeats are dropped
	Values  context.Context // adds values to those of the context's parent; nil: none
	commits commits
	answer  answer
}

// answer is that of a question that did not find its attempt done.
type answer struct {
	is    retry.Answer
	after time.Duration
}

// SetAnswer says that a question found no effect, or no answer. It is for the body of the
// question, which then returns nil.
func (a *Attempt) SetAnswer(is retry.Answer, after time.Duration) { a.answer = answer{is, after} }

// Answer returns what SetAnswer was told, "" for nothing.
func (a *Attempt) Answer() (is retry.Answer, after time.Duration) { return a.answer.is, a.answer.after }

// AttemptLink connects a body to the engine that runs its attempt. Its methods are safe for
// concurrent use.
type AttemptLink interface {
	// Heartbeat records a sign of life with details. Nil means no details.
	Heartbeat(details any) error
	// Alive records a sign of life without details.
	Alive()
	// Details decodes the details of the last heartbeat into what into points to.
	Details(into any) (bool, error)
	// Token returns the token with which any process can complete the attempt.
	Token() string
}

// AttemptKey is the context key of an attempt.
type AttemptKey struct{}

func (a *Attempt) attempt() *Attempt { return a }

// AttemptIn returns the attempt of a context, nil outside of bodies.
func AttemptIn(ctx context.Context) *Attempt {
	if holder, ok := ctx.Value(AttemptKey{}).(interface{ attempt() *Attempt }); ok {
		return holder.attempt()
	}
	return nil
}

// OnCommit adds a function to the transaction that records the result.
func (a *Attempt) OnCommit(f func(ctx context.Context, tx any) error) error { return a.commits.add(f) }

// Commits makes OnCommit accept no more functions, and returns a function that runs the
// accepted ones in order until one fails. It returns nil if there are none.
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

// commits are the functions of one attempt.
type commits struct {
	mu     sync.Mutex // a body may use goroutines
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
