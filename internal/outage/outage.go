package outage

import (
	"sync"
	"time"

	"github.com/perdure/perdure/internal/logs"
)

// Watch watches one use of a database. It is safe for concurrent use.
type Watch struct {
	log   *logs.Log
	mu    sync.Mutex
	err   error
	since time.Time // when the outage began
	parts []*Watch
}

// New returns a Watch without an outage.
func New(log *logs.Log) *Watch { return &Watch{log: log} }

// Away records that an operation failed because the database did not answer. The caller tries
// again.
func (w *Watch) Away(while string, err error) {
	if _, was := w.set(err); was == nil {
		w.log.DatabaseAway(while, err)
	}
}

// Back records that the database answered.
func (w *Watch) Back() {
	if lasted, was := w.set(nil); was != nil {
		w.log.DatabaseBack(lasted, was)
	}
}

// set replaces the error and returns the previous one, and for how long there has been one.
func (w *Watch) set(err error) (lasted time.Duration, was error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if was, w.err = w.err, err; was == nil {
		w.since = time.Now()
	}
	return time.Since(w.since), was
}

// Part returns a Watch of a part of the database, such as one of its servers. Err of w
// includes its error.
func (w *Watch) Part() *Watch {
	part := New(w.log)
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
