package memory

import (
	"context"

	"github.com/perdure/perdure/internal/mailbox"
	"github.com/perdure/perdure/store"
)

func (h *handle) Listen(ctx context.Context, notify func(store.News)) error {
	db, box := h.db, mailbox.New()
	db.mu.Lock()
	db.listeners[box] = struct{}{}
	db.mu.Unlock()
	defer func() {
		db.mu.Lock()
		delete(db.listeners, box)
		db.mu.Unlock()
	}()
	return box.Read(ctx, h.closed, notify)
}

// announce notifies the listeners. The data are locked.
func (db *Database) announce(news store.News) {
	for box := range db.listeners {
		box.Put(news)
	}
}
