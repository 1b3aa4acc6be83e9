package postgres

import (
	"context"
	"time"

	"github.com/perdure/perdure/store"
)

// pollInterval is how often Listen polls where it cannot listen.
const pollInterval = 50 * time.Millisecond

// look polls for news.
func (h *handle) look(ctx context.Context, notify func(store.News)) error {
	ticker := time.NewTicker(h.poll)
	defer ticker.Stop()
	var messages, nodes watched
	notify(store.AllNews) // earlier news counts too
	for {
		var news store.News
		err := h.hold(ctx, "Listen", func(c *conn) error {
			var m, n, oldest, next int64
			_, err := c.one(ctx, `SELECT m.last_value + m.is_called::integer, n.last_value + n.is_called::integer, pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint
				FROM perdure.messages m, perdure.changes n, pg_current_snapshot() s`, nil, &m, &n, &oldest, &next)
			if err == nil && messages.news(m, oldest, next) {
				news |= store.NewsMessage | store.NewsTasks
			}
			if err == nil && nodes.news(n, oldest, next) {
				news |= store.NewsNodes | store.NewsSwitches
			}
			return err
		})
		if err != nil {
			return h.ended(err)
		}
		if news != 0 {
			notify(news)
		}
		select {
		case <-ctx.Done():
			return h.ended(ctx.Err())
		case <-ticker.C:
		}
	}
}

// ended returns what Listen returns when it ends. A closed store also ends its context.
func (h *handle) ended(err error) error {
	if h.isClosed() {
		return store.ErrStoreClosed
	}
	return err
}

// watched is a sequence that rises when something is written. It rises before the
// transaction is committed, so the news is repeated until all transactions have ended that
// were running when the rise was seen.
type watched struct {
	last  int64
	fresh bool  // the last poll saw the rise
	until int64 // the transaction that must have ended, 0 for none
}

// news takes the result of a poll: the sequence, the oldest running transaction, and the
// next one to begin.
func (w *watched) news(last, oldest, next int64) bool {
	switch {
	case last != w.last:
		w.last, w.fresh = last, true
		return true
	case w.fresh: // a transaction gets its number slightly after the sequence rose
		w.fresh, w.until = false, next
		return true
	case w.until == 0:
		return false
	case oldest >= w.until:
		w.until = 0
	}
	return true
}
