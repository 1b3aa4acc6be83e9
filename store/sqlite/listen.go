package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure/store"
)

// pollInterval is how often Listen looks for writes of other processes.
const pollInterval = 20 * time.Millisecond

// listener is somebody of this process who listens.
type listener struct {
	news  store.News    // what it was not told yet, guarded by listeners
	heard chan struct{} // has a value if there is news
}

// listeners of this process, by the path of their file.
var listeners = struct {
	sync.Mutex
	byPath map[string]map[*listener]struct{}
}{byPath: map[string]map[*listener]struct{}{}}

// announce tells the listeners of this process that there is news in a file.
func announce(path string, news store.News) {
	listeners.Lock()
	defer listeners.Unlock()
	for l := range listeners.byPath[path] {
		l.add(news)
	}
}

// add gives a listener something to tell.
func (l *listener) add(news store.News) {
	l.news |= news
	select {
	case l.heard <- struct{}{}:
	default: // it will look anyway
	}
}

// take answers what is to be told.
func (l *listener) take() store.News {
	listeners.Lock()
	defer listeners.Unlock()
	news := l.news
	l.news = 0
	return news
}

// subscribe adds a listener, who has all news to hear, and returns how to
// remove it.
func subscribe(path string) (l *listener, remove func()) {
	l = &listener{heard: make(chan struct{}, 1)}
	l.add(store.AllNews) // what came about before is news too
	listeners.Lock()
	defer listeners.Unlock()
	if listeners.byPath[path] == nil {
		listeners.byPath[path] = map[*listener]struct{}{}
	}
	listeners.byPath[path][l] = struct{}{}
	return l, func() {
		listeners.Lock()
		defer listeners.Unlock()
		delete(listeners.byPath[path], l)
		if len(listeners.byPath[path]) == 0 {
			delete(listeners.byPath, path)
		}
	}
}

func (h *handle) Listen(ctx context.Context, notify func(store.News)) error {
	l, remove := subscribe(h.path)
	defer remove()
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
		case <-l.heard:
			if h.isClosed() {
				return store.ErrStoreClosed
			}
			notify(l.take())
		case <-tick:
			if h.changed(&seen) {
				notify(store.AllNews)
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
