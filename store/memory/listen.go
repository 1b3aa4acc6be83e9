package memory

import (
	"context"

	"github.com/perdure/perdure/store"
)

// listener is somebody who listens.
type listener struct {
	news  store.News    // what it was not told yet, under the database's mu
	heard chan struct{} // has a value if there is news
}

func (h *handle) Listen(ctx context.Context, notify func(store.News)) error {
	db := h.db
	// What came about before we listened is news too.
	l := &listener{news: store.AllNews, heard: make(chan struct{}, 1)}
	l.heard <- struct{}{}
	db.mu.Lock()
	db.listeners[l] = struct{}{}
	db.mu.Unlock()
	defer func() {
		db.mu.Lock()
		delete(db.listeners, l)
		db.mu.Unlock()
	}()
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
			db.mu.Lock()
			news := l.news
			l.news = 0
			db.mu.Unlock()
			notify(news)
		}
	}
}

// announce wakes the listeners. The data are locked.
func (db *Database) announce(news store.News) {
	for l := range db.listeners {
		l.news |= news
		select {
		case l.heard <- struct{}{}:
		default: // it will look anyway
		}
	}
}
