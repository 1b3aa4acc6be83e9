package mailbox

import (
	"context"
	"sync"

	"github.com/perdure/perdure/store"
)

// Box is the mailbox of a listener. It is safe for concurrent use.
type Box struct {
	mu   sync.Mutex
	news store.News // not delivered yet

	arrived chan struct{} // has a value if there is news
}

// New returns a mailbox that holds every kind of news, because anything may have happened
// before the listener began.
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

// Read calls notify with the news that arrive until ctx ends or the store is closed, as
// store.Store.Listen requires.
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
		case <-closed: // the store was closed at the same moment
			return store.ErrStoreClosed
		default:
			if news := b.take(); news != 0 { // else they were taken with those before them
				notify(news)
			}
		}
	}
}
