package member

import (
	"context"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/store"
)

// lease is what a node knows about its own lease.
type lease struct {
	token int64 // of the last renewal that succeeded
	// next is the token of a renewal without a reply, used for all its retries; 0 if there is
	// none. The database may have recorded it: a new token would look like that of another
	// process.
	next int64
	// returned is when an overdue renewal succeeded, after an outage of the database or after
	// the process had stood still.
	returned time.Time
	// database is what the database's clock showed at the last renewal, and leapt when it was
	// found to have leapt forward since the one before.
	database int64
	leapt    time.Time
	failed   bool // a renewal has failed since the last one that succeeded
}

// A renewal without a reply is retried maxRenewals times, each after renewPause, before it
// counts as failed.
const (
	maxRenewals = 3
	renewPause  = 100 * time.Millisecond
)

// leap is how much further than this machine's the database's clock must have gone between two
// renewals to have leapt.
const leap = time.Second

// renew renews the lease and returns the members of the group.
func (m *Member) renew(ctx context.Context) (*store.Membership, error) {
	m.mu.Lock()
	if m.lease.next == 0 {
		m.lease.next = ident.NewCommit()
	}
	r := store.Renewal{Node: m.node.ID, Last: m.lease.token, Next: m.lease.next, Draining: m.draining}
	m.mu.Unlock()
	// A reply that arrives after the lease has expired is of no use.
	ctx, cancel := context.WithTimeout(ctx, m.config.Lease)
	defer cancel()
	for k := 0; ; k++ {
		sent := time.Now()
		// A dead connection is given up soon; a slow database gets more time with each retry.
		try, cancel := context.WithTimeout(ctx, m.config.Lease/4<<k)
		ms, err := m.config.Store.Renew(try, r)
		late := try.Err() != nil
		cancel()
		if err == nil {
			m.renewed(sent, ms)
			return ms, nil
		}
		m.mu.Lock()
		m.lease.failed = true
		m.mu.Unlock()
		if k == maxRenewals || ctx.Err() != nil || !late && !store.Unavailable(err) || !clock.Pause(m.ctx, renewPause) {
			return nil, err
		}
	}
}

// renewed handles a reply. The holder drops lost partitions first. Only then does the lease
// hold again, so nothing starts in a partition of another node.
func (m *Member) renewed(sent time.Time, ms *store.Membership) {
	m.config.Clock.Observe(ms.Now)
	me := m.id()
	served := map[int]Partition{}
	for _, p := range m.config.Holder.Served() {
		served[p.Number] = p
	}
	var lost []Partition
	for _, o := range ms.Owners {
		if p, is := served[o.Partition]; is && (o.Node != me || o.Epoch != p.Epoch) {
			lost = append(lost, p)
		}
		delete(served, o.Partition)
	}
	for _, p := range served { // a ward that was dissolved
		lost = append(lost, p)
	}
	if len(lost) > 0 {
		m.config.Holder.Lost(lost)
	}
	m.mu.Lock()
	l := &m.lease
	last := m.lastSent()
	if clock.LeaseLeft(m.config.Lease, last, sent) <= 0 || l.failed && clock.Passed(last, sent) > m.config.Lease/2 {
		l.returned = time.Now()
	}
	if l.database > 0 && time.Duration(ms.Now-l.database) > time.Since(last)+leap {
		l.leapt = time.Now()
	}
	l.database = ms.Now
	l.token, l.next, l.failed = l.next, 0, false
	m.sent.Store(&sent)
	m.mu.Unlock()
	m.config.Holder.Renewed(ms)
}

// Holds reports whether it is certain that no other node has taken this node's partitions.
func (m *Member) Holds() bool { return m.Left() > 0 }

// Left returns for how long that is certain. If the wall clock was set, the next renewal
// corrects the result.
func (m *Member) Left() time.Duration {
	if !m.config.Shared {
		return clock.Forever
	}
	return clock.LeaseLeft(m.config.Lease, m.lastSent(), time.Now())
}

// lastSent returns when the last successful renewal was sent, the zero time before Join.
func (m *Member) lastSent() time.Time {
	if sent := m.sent.Load(); sent != nil {
		return *sent
	}
	return time.Time{}
}

// slept reports whether the machine slept since the last renewal: the monotonic clock stops
// meanwhile, and timers are late.
func (m *Member) slept() bool {
	sent := m.lastSent()
	now := time.Now()
	return now.Round(0).Sub(sent.Round(0))-now.Sub(sent) > time.Second
}
