package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// quiet is how long a listening connection may be silent before its liveness is checked.
const quiet = 10 * time.Second

// The words of a notification. The channel has the name of the schema.
const (
	messageWord  = "message"
	nodesWord    = "nodes"
	switchesWord = "switches"
	tasksWord    = "tasks"
	claimsWord   = "claims"
)

// notify adds a notification. It follows the transaction that it announces instead of being
// part of it: the server commits one notifying transaction at a time, and flushing each to
// disk would make all others wait. The notification itself is not flushed either, because
// the caller would wait for the disk twice. It concerns only listeners, who lose their
// connections if the server fails.
func (b *batch) notify(news store.News) {
	b.do(`SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`, b.h.schema, wordFor(news))
}

// notifyInside adds a notification to another client's transaction, whose durability it
// does not change.
func (b *batch) notifyInside(news store.News) {
	b.do(`SELECT pg_notify($1, $2)`, b.h.schema, wordFor(news))
}

// wordFor is the word for one kind of news.
func wordFor(news store.News) string {
	switch news {
	case store.NewsNodes:
		return nodesWord
	case store.NewsSwitches:
		return switchesWord
	case store.NewsTasks:
		return tasksWord
	case store.NewsClaims:
		return claimsWord
	}
	return messageWord
}

// notify sends a notification of each kind of news after a transaction that could not take
// them along. That something was written stands, whether the news gets around or not.
func (c *conn) notify(ctx context.Context, kinds ...store.News) {
	_ = c.send(ctx, func(b *batch) {
		for _, news := range kinds {
			b.notify(news)
		}
	})
}

func (h *handle) Listen(ctx context.Context, notify func(store.News)) error {
	if h.isClosed() {
		return store.ErrStoreClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-h.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	if h.poll > 0 {
		return h.look(ctx, notify)
	}
	return h.hear(ctx, notify)
}

// hear listens on a connection of its own, which does not count as one of the pool's.
func (h *handle) hear(ctx context.Context, notify func(store.News)) error {
	pooled, err := h.pool.Acquire(ctx)
	if err != nil {
		return h.fail(ctx, "Listen", foreign(err))
	}
	conn := pooled.Hijack()
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), rollbackTime)
		defer cancel()
		conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, `LISTEN `+pgx.Identifier{h.schema}.Sanitize()); err != nil {
		return h.fail(ctx, "Listen", foreign(err))
	}
	notify(store.AllNews) // earlier news counts too
	for {
		heard, err := wait(ctx, conn)
		switch {
		case err != nil:
			return h.fail(ctx, "Listen", foreign(err))
		case heard == claimsWord:
			notify(store.NewsClaims)
		case heard == messageWord:
			notify(store.NewsMessage)
		case heard == switchesWord:
			notify(store.NewsSwitches)
		case heard == tasksWord:
			notify(store.NewsTasks)
		case heard != "":
			notify(store.NewsNodes)
		}
	}
}

// wait waits for the next notification. It returns "" if none came for a while and the
// connection is alive.
func wait(ctx context.Context, conn *pgx.Conn) (string, error) {
	limited, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	n, err := conn.WaitForNotification(limited)
	if err == nil {
		return n.Payload, nil
	}
	if ctx.Err() != nil || limited.Err() == nil {
		return "", err
	}
	limited, cancel = context.WithTimeout(ctx, quiet)
	defer cancel()
	return "", conn.Ping(limited)
}
