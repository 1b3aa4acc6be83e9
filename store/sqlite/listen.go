package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure/store"
)

// pollInterval is how often Listen looks for writes of other processes.
const pollInterval = 20 * time.Millisecond

// listeners of this process, by the path of their file.
var listeners = struct {
	sync.Mutex
	byPath map[string]map[chan struct{}]struct{}
}{byPath: map[string]map[chan struct{}]struct{}{}}

// announce tells the listeners of this process that there is news in a file.
func announce(path string) {
	listeners.Lock()
	defer listeners.Unlock()
	for heard := range listeners.byPath[path] {
		select {
		case heard <- struct{}{}:
		default: // it has news already
		}
	}
}

// subscribe adds a listener and returns how to remove it.
func subscribe(path string, heard chan struct{}) (remove func()) {
	listeners.Lock()
	defer listeners.Unlock()
	if listeners.byPath[path] == nil {
		listeners.byPath[path] = map[chan struct{}]struct{}{}
	}
	listeners.byPath[path][heard] = struct{}{}
	return func() {
		listeners.Lock()
		defer listeners.Unlock()
		delete(listeners.byPath[path], heard)
		if len(listeners.byPath[path]) == 0 {
			delete(listeners.byPath, path)
		}
	}
}

func (h *handle) Listen(ctx context.Context, notify func()) error {
	heard := make(chan struct{}, 1)
	heard <- struct{}{} // what was posted before we listened is news too
	defer subscribe(h.path, heard)()
	var tick <-chan time.Time
	if !h.exclusive {
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		tick = ticker.C
	}
	var seen version
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-h.closed:
			return store.ErrStoreClosed
		case <-heard:
			if h.isClosed() {
				return store.ErrStoreClosed
			}
			notify()
		case <-tick:
			if h.changed(&seen) {
				notify()
			}
		}
	}
}

// version is what a connection has seen of the changes by others.
type version struct {
	c    *conn
	data int64
}

// changed reports whether another process may have written since the last look.
// It asks the writing connection, for which nothing counts that it wrote itself.
// If that is taken, or the database cannot answer, the next tick will tell.
func (h *handle) changed(seen *version) bool {
	c, err := h.writer.tryGet(context.Background())
	if c == nil || err != nil {
		return false
	}
	now := version{c: c}
	_, err = c.one(`PRAGMA data_version`, []*int64{&now.data})
	h.writer.put(c, breaks(err))
	if err != nil || now == *seen {
		return false
	}
	*seen = now // a new connection counts anew: then we cannot know
	return true
}

func (h *handle) isClosed() bool {
	select {
	case <-h.closed:
		return true
	default:
		return false
	}
}
