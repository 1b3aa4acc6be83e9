package mailbox

import (
	"context"
	"sync"

	"github.com/perdure/perdure/store"
)

// Box is the mailbox of a listener. It is safe for concurrent use.
type Box struct {
	mu   sync.Mutex
	news store.News // what the listener was not told yet

	arrived chan struct{} // has a value if there is news
}

// New makes a mailbox. It holds all news: what came about before a listener
// listened is news too.
func New() *Box {
	b := &Box{arrived: make(chan struct{}, 1)}
	b.Put(store.AllNews)
	return b
}

// Put adds news.
func (b *Box) Put(news store.News) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.news |= news
	select {
	case b.arrived <- struct{}{}:
	default: // the listener will look anyway
	}
}

func (b *Box) take() store.News {
	b.mu.Lock()
	defer b.mu.Unlock()
	news := b.news
	b.news = 0
	return news
}

// Read calls notify with what arrives, as Listen of a store does, until ctx ends
// or the store is closed.
func (b *Box) Read(ctx context.Context, closed <-chan struct{}, notify func(store.News)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-closed:
			return store.ErrStoreClosed
		case <-b.arrived:
		}
		select {
		case <-closed: // at the same moment: a closed store has nothing to tell
			return store.ErrStoreClosed
		default:
			notify(b.take())
		}
	}
}
