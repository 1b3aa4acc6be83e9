package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/perdure/perdure/store"
)

// How long the store's own statements wait for a lock that another client's transaction may
// hold for hours: a workflow ID that it took, a message that it moved. The store's own
// transactions hold their locks only for the time of a commit.
const (
	// patience is for turns that are written together, and for verbs of clients.
	patience = 50 * time.Millisecond
	// brief is for turns that are written one by one, because one of them has to wait and
	// delays the others.
	brief = 5 * time.Millisecond
)

// errBlocked says that a turn or a verb has to wait.
var errBlocked = errors.New("another open transaction has the same workflow ID, or a message for it")

// limitLocks limits how long the following statements wait for locks.
func (b *batch) limitLocks(d time.Duration) {
	if b.h.distributed {
		b.limitLocksOfWorkers(d)
		return
	}
	b.do(`SELECT set_config('lock_timeout', $1, true)`, milliseconds(d))
}

// milliseconds formats a duration for the server's settings.
func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// The pauses between two tries of a verb.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// patiently is share for verbs that may have to wait for another client's transaction. They
// hold no connection while they wait.
func (h *handle) patiently(ctx context.Context, op string, f func(c *conn) error) error {
	pause := firstPause
	for {
		err := h.share(ctx, op, f)
		if err != nil && ctx.Err() != nil && pause > firstPause {
			return fmt.Errorf("%s: %w: %w", op, context.Cause(ctx), errBlocked)
		}
		if code(err) != lockNotAvailable {
			return err
		}
		select {
		case <-time.After(pause):
		case <-h.closed:
			return store.ErrStoreClosed
		case <-ctx.Done():
		}
		pause = min(2*pause, lastPause)
	}
}
