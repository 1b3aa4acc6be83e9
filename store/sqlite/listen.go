package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/mailbox"
	"github.com/perdure/perdure/store"
)

// pollInterval is how often Listen checks for writes of other processes.
const pollInterval = 20 * time.Millisecond

// listeners are the listeners of this process, by the path of their file.
var listeners = struct {
	sync.Mutex
	byPath map[string]map[*mailbox.Box]struct{}
}{byPath: map[string]map[*mailbox.Box]struct{}{}}

// announce notifies the listeners of this process of news in a file.
func announce(path string, news store.News) {
	listeners.Lock()
	defer listeners.Unlock()
	for box := range listeners.byPath[path] {
		box.Put(news)
	}
}

// announced announces news of a verb that succeeded. It returns the error of the verb.
func (h *handle) announced(news store.News, err error) error {
	if err == nil {
		announce(h.path, news)
	}
	return err
}

// subscribe adds a listener and returns a function that removes it.
func subscribe(path string) (box *mailbox.Box, remove func()) {
	box = mailbox.New()
	listeners.Lock()
	defer listeners.Unlock()
	if listeners.byPath[path] == nil {
		listeners.byPath[path] = map[*mailbox.Box]struct{}{}
	}
	listeners.byPath[path][box] = struct{}{}
	return box, func() {
		listeners.Lock()
		defer listeners.Unlock()
		delete(listeners.byPath[path], box)
		if len(listeners.byPath[path]) == 0 {
			delete(listeners.byPath, path)
		}
	}
}

func (h *handle) Listen(ctx context.Context, notify func(store.News)) error {
	box, remove := subscribe(h.path)
	defer remove()
	if !h.exclusive {
		polling, stop := context.WithCancel(ctx)
		var poll sync.WaitGroup
		defer poll.Wait()
		defer stop()
		poll.Go(func() { h.poll(polling, box) })
	}
	return box.Read(ctx, h.closed, notify)
}

// poll notifies a listener of possible writes by other processes.
func (h *handle) poll(ctx context.Context, box *mailbox.Box) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for seen := (version{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if h.changed(&seen) {
				box.Put(store.AllNews)
			}
		}
	}
}

// version is the last change by others that a connection has seen.
type version struct {
	c    *conn
	data int64
}

// changed reports whether another process may have written since the last check. It asks
// the writing connection, which ignores its own writes. If that is in use or the database
// is unavailable, the next tick will tell.
func (h *handle) changed(seen *version) bool {
	if h.unwritable != nil {
		return false // who has not even a log open waits for no news
	}
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
	*seen = now // a new connection starts counting here, so earlier changes are unknown
	return true
}
