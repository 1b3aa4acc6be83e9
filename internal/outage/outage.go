package outage

import (
	"sync"

	"github.com/perdure/perdure/internal/logs"
)

// Watch is one use of a database. It is safe for concurrent use.
type Watch struct {
	log *logs.Log
	mu  sync.Mutex
	err error
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

// Err returns what is wrong, nil if nothing is.
func (w *Watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
