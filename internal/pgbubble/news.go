package pgbubble

import (
	"context"
	"slices"
	"sync"

	"github.com/perdure/perdure/internal/mailbox"
	"github.com/perdure/perdure/store"
)

// grapevine tells those who use a Database what others of them did.
type grapevine struct {
	mu        sync.Mutex
	listeners map[*mailbox.Box]struct{}
}

// add begins to listen.
func (g *grapevine) add() *mailbox.Box {
	box := mailbox.New()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.listeners == nil {
		g.listeners = map[*mailbox.Box]struct{}{}
	}
	g.listeners[box] = struct{}{}
	return box
}

func (g *grapevine) remove(box *mailbox.Box) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.listeners, box)
}

// notify puts news into the box of each listener.
func (g *grapevine) notify(news store.News) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for box := range g.listeners {
		box.Put(news)
	}
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
	box := h.news.add()
	defer h.news.remove(box)
	return box.Read(ctx, h.closed, notify)
}

func (h *handle) Create(ctx context.Context, run store.Run) error {
	defer h.news.notify(store.NewsMessage)
	return h.Store.Create(ctx, run)
}

func (h *handle) Post(ctx context.Context, message store.Message) error {
	defer h.news.notify(store.NewsMessage)
	return h.Store.Post(ctx, message)
}

func (h *handle) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	if slices.ContainsFunc(turns, func(t store.Turn) bool { return len(t.Messages) > 0 || t.Hook != nil }) {
		defer h.news.notify(store.NewsMessage)
	}
	if slices.ContainsFunc(turns, func(t store.Turn) bool { return t.HasTasks() }) {
		defer h.news.notify(store.NewsTasks)
	}
	return h.Store.Commit(ctx, turns)
}

func (h *handle) Attend(ctx context.Context, worker store.Worker) (*store.Attendance, error) {
	defer h.news.notify(store.NewsNodes)
	return h.Store.Attend(ctx, worker)
}

func (h *handle) ClaimTasks(ctx context.Context, claim store.TaskClaim) ([]store.Task, error) {
	claimed, err := h.Store.ClaimTasks(ctx, claim)
	if len(claimed) > 0 {
		h.news.notify(store.NewsClaims)
	}
	return claimed, err
}

func (h *handle) SettleTasks(ctx context.Context, worker string, settled []store.SettledTask) ([]error, error) {
	defer h.news.notify(store.NewsMessage)
	return h.Store.SettleTasks(ctx, worker, settled)
}

func (h *handle) Transact(ctx context.Context, f func(tx any) error) error {
	defer h.news.notify(store.NewsMessage)
	return h.Store.Transact(ctx, f)
}

func (h *handle) Switch(ctx context.Context, s store.Switch) (store.Switch, error) {
	defer h.news.notify(store.NewsSwitches)
	return h.Store.Switch(ctx, s)
}

func (h *handle) Join(ctx context.Context, node store.Node) error {
	defer h.news.notify(store.NewsNodes)
	return h.Store.Join(ctx, node)
}

func (h *handle) Leave(ctx context.Context, node string) error {
	defer h.news.notify(store.NewsNodes)
	return h.Store.Leave(ctx, node)
}

func (h *handle) Move(ctx context.Context, move store.Move) error {
	defer h.news.notify(store.NewsNodes | store.NewsMessage)
	return h.Store.Move(ctx, move)
}

func (h *handle) Dissolve(ctx context.Context, partition int, epoch int64, ward int) (bool, error) {
	defer h.news.notify(store.NewsMessage)
	return h.Store.Dissolve(ctx, partition, epoch, ward)
}

func (h *handle) Release(ctx context.Context, node string, partitions []int) error {
	defer h.news.notify(store.NewsNodes)
	return h.Store.Release(ctx, node, partitions)
}
