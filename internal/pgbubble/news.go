package pgbubble

import (
	"context"
	"slices"
	"sync"

	"github.com/perdure/perdure/store"
)

// grapevine tells those who use a Database what others of them did.
type grapevine struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
}

// listener is somebody who listens.
type listener struct {
	news  store.News    // what it was not told yet, guarded by the grapevine's mu
	heard chan struct{} // has a value if there is news
}

// add begins to listen.
func (g *grapevine) add() *listener {
	l := &listener{heard: make(chan struct{}, 1)}
	l.tell(store.AllNews) // what came about before is news too
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.listeners == nil {
		g.listeners = map[*listener]struct{}{}
	}
	g.listeners[l] = struct{}{}
	return l
}

func (g *grapevine) remove(l *listener) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.listeners, l)
}

// tell tells everybody.
func (g *grapevine) tell(news store.News) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for l := range g.listeners {
		l.tell(news)
	}
}

func (l *listener) tell(news store.News) {
	l.news |= news
	select {
	case l.heard <- struct{}{}:
	default: // it will look anyway
	}
}

// take answers what a listener was not told yet.
func (g *grapevine) take(l *listener) store.News {
	g.mu.Lock()
	defer g.mu.Unlock()
	news := l.news
	l.news = 0
	return news
}

// handle is a store that tells the others what it did, also if it did not hear
// whether it was done.
type handle struct {
	store.Store
	news *grapevine

	once   sync.Once
	closed chan struct{}
}

func (h *handle) Close() error {
	h.once.Do(func() { close(h.closed) })
	return h.Store.Close()
}

func (h *handle) Listen(ctx context.Context, notify func(store.News)) error {
	l := h.news.add()
	defer h.news.remove(l)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-h.closed:
			return store.ErrStoreClosed
		case <-l.heard:
			notify(h.news.take(l))
		}
	}
}

func (h *handle) Create(ctx context.Context, run store.Run) error {
	defer h.news.tell(store.NewsMessage)
	return h.Store.Create(ctx, run)
}

func (h *handle) Post(ctx context.Context, message store.Message) error {
	defer h.news.tell(store.NewsMessage)
	return h.Store.Post(ctx, message)
}

func (h *handle) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	if slices.ContainsFunc(turns, func(t store.Turn) bool { return len(t.Messages) > 0 }) {
		defer h.news.tell(store.NewsMessage)
	}
	return h.Store.Commit(ctx, turns)
}

func (h *handle) Switch(ctx context.Context, s store.Switch) (store.Switch, error) {
	defer h.news.tell(store.NewsSwitches)
	return h.Store.Switch(ctx, s)
}

func (h *handle) Join(ctx context.Context, node store.Node) error {
	defer h.news.tell(store.NewsNodes)
	return h.Store.Join(ctx, node)
}

func (h *handle) Leave(ctx context.Context, node string) error {
	defer h.news.tell(store.NewsNodes)
	return h.Store.Leave(ctx, node)
}

func (h *handle) Release(ctx context.Context, node string, partitions []int) error {
	defer h.news.tell(store.NewsNodes)
	return h.Store.Release(ctx, node, partitions)
}
