package outage

import (
	"sync"

	"github.com/perdure/perdure/internal/logs"
)

// Watch is one use of a database. It is safe for concurrent use.
type Watch struct {
	log   *logs.Log
	mu    sync.Mutex
	err   error
	parts []*Watch
}

// New returns a Watch of a database that answers.
func New(log *logs.Log) *Watch { return &Watch{log: log} }

// Away notes that the database did not answer, and what was asked of it. The caller tries
// again.
func (w *Watch) Away(while string, err error) {
	if w.set(err) == nil {
		w.log.DatabaseAway(while, err)
	}
}

// Back notes that the database answered.
func (w *Watch) Back() {
	if was := w.set(nil); was != nil {
		w.log.DatabaseBack(was)
	}
}

// set returns what was wrong before.
func (w *Watch) set(err error) (was error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was, w.err = w.err, err
	return was
}

// Part returns a Watch of a part of the database, such as one of its servers. What is
// wrong with it is wrong with the whole.
func (w *Watch) Part() *Watch {
	part := New(w.log)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts = append(w.parts, part)
	return part
}

// Err returns what is wrong, nil if nothing is.
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
