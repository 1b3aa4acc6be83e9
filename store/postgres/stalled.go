package postgres

import (
	"context"
	"time"
)

// A stalled process, or one whose network fails, may be inside a transaction that locks
// partitions: in a step transaction, or with half of a commit sent. The server ends a
// transaction that waits for its next statement (limitIdleness). It has no limit for one
// that waits for the rest of a statement, or for its client to read a result, so the node
// that takes over ends it.

// takePatience is how long a node that takes over waits for locks before it looks at their
// holders.
const takePatience = 300 * time.Millisecond

// taking is hold for verbs that take partitions from other nodes. They wait for
// transactions in progress, but not for those of stalled processes.
func (h *handle) taking(ctx context.Context, op string, f func(c *conn) error) error {
	for {
		err := h.hold(ctx, op, f)
		if code(err) != lockNotAvailable {
			return err
		}
		// Without the right to end sessions, the server's own limit remains.
		_ = h.hold(ctx, op, func(c *conn) error { return c.endStalled(ctx) })
	}
}

// endStalled ends the sessions of this user that have a lock on partitions or nodes and have
// waited for their client longer than any node's transaction may. The server does not say
// to which node a session belongs, so that time is the longest lease of all members, or
// idleLimit: a node with a short lease must not end a healthy session of another.
func (c *conn) endStalled(ctx context.Context) error {
	_, err := c.exec(ctx, `SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
		WHERE a.pid <> pg_backend_pid() AND a.datname = current_database() AND a.usename = current_user
		AND (a.wait_event_type = 'Client' OR a.state LIKE 'idle in transaction%')
		AND a.state_change < clock_timestamp() - interval '1 millisecond' *
			least($1, (SELECT max(lease) FROM perdure.nodes WHERE departed IS NULL) / 1000000)
		AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.granted AND l.mode IN ('RowShareLock', 'RowExclusiveLock')
			AND l.relation IN ('perdure.partitions'::regclass, 'perdure.nodes'::regclass))`, idleLimit.Milliseconds())
	return err
}

// idleness is how long a transaction that locks partitions may wait for its client.
func (h *handle) idleness() time.Duration { return time.Duration(h.idle.Load()) }
