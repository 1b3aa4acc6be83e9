package outage

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// Watch watches one use of a database. It is safe for concurrent use.
type Watch struct {
	log   *logs.Log
	away  atomic.Bool // there is an error
	mu    sync.Mutex
	err   error
	since time.Time // when the outage began
	parts []*Watch

	gone chan struct{} // closed when the store will never carry an operation out; shared with its parts
	end  func()        // closes gone
}

// New returns a Watch without an outage.
func New(log *logs.Log) *Watch {
	gone := make(chan struct{})
	return &Watch{log: log, gone: gone, end: sync.OnceFunc(func() { close(gone) })}
}

// Gone returns a channel that is closed when no operation can succeed any more; see
// store.UnavailableError.
func (w *Watch) Gone() <-chan struct{} { return w.gone }

// Away records that an operation failed because the database did not answer. The caller tries
// again.
func (w *Watch) Away(while string, err error) {
	if _, was := w.set(err); was == nil {
		w.log.DatabaseAway(while, err)
	}
}

// Back records that the database answered.
func (w *Watch) Back() {
	if !w.away.Load() {
		return // the usual case
	}
	if lasted, was := w.set(nil); was != nil {
		w.log.DatabaseBack(lasted, was)
	}
}

// set replaces the error and returns the previous one, and for how long there has been one.
func (w *Watch) set(err error) (lasted time.Duration, was error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if away, is := errors.AsType[*store.UnavailableError](err); is && away.Gone {
		w.end()
	}
	w.away.Store(err != nil)
	if was, w.err = w.err, err; was == nil {
		w.since = time.Now()
	}
	return time.Since(w.since), was
}

// Part returns a Watch of a part of the database, such as one of its servers. Err of w
// includes its error.
func (w *Watch) Part() *Watch {
	part := New(w.log)
	part.gone, part.end = w.gone, w.end
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts = append(w.parts, part)
	return part
}

// Err returns the current error, nil if there is no outage.
func (w *Watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.err
	for _, part := range w.parts {
		if err == nil {
			err = part.Err()
		}
	}
	return err
}

// backoff is how a read that failed is repeated.
var backoff = retry.Exponential(20*time.Millisecond, 2, 2*time.Second)

// Insist retries a read about one thing while the database is unavailable. It returns any other
// error, and the cause of ctx when that ends.
func (w *Watch) Insist(ctx context.Context, what string, read func() error) error {
	var definite error
	err := w.Persist(ctx, what, func() error {
		err := read()
		if err != nil && !store.Unavailable(err) {
			definite, err = err, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return definite
}

// Read is Insist for a read that returns something.
func Read[T any](ctx context.Context, w *Watch, what string, read func(context.Context) (T, error)) (got T, err error) {
	err = w.Insist(ctx, what, func() (err error) {
		got, err = read(ctx)
		return err
	})
	return got, err
}

// Persist retries a read that its caller cannot do without, whatever the error, until it
// succeeds or ctx ends. Then it returns the cause of ctx.
func (w *Watch) Persist(ctx context.Context, what string, read func() error) error {
	for k := 1; ; k++ {
		err := read()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			w.Back()
			return nil
		}
		w.Away(what, err)
		if !clock.Pause(ctx, backoff.Delay(k)) {
			return context.Cause(ctx)
		}
	}
}
