package engine

import (
	"context"
	"time"

	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/store"
)

// member is this process as one of the nodes of its group. It is guarded by the
// engine's mu.
type member struct {
	node  store.Node
	token int64 // of the last renewal that was answered
	// next is that of a renewal that was not answered yet, however often it was
	// asked for; 0 if there is none. The database may have it: another token would
	// look like that of another process.
	next int64

	// sent is when the last renewal that was answered was sent: the lease runs
	// from then, whatever happened on the way.
	sent time.Time
	// returned is when the last renewal was answered that was overdue: after an
	// outage of the database, or when the process had stood still.
	returned time.Time
	failed   bool              // a renewal was not answered since the last one that was
	refused  bool              // calls got no slot because the lease might have been over
	replaced bool              // another process has this node's name
	staying  map[int]time.Time // until when partitions are not asked again to leave
	// released are partitions that were given back, and when; zero while the
	// database is being told.
	released map[int]time.Time
}

func newMember(c Config) member {
	return member{
		node:    store.Node{ID: c.Node + "/" + ident.NewToken()[:8], Name: c.Node, Group: c.Group, Lease: c.Lease, Supersede: c.Supersede},
		staying: map[int]time.Time{}, released: map[int]time.Time{},
	}
}

func (e *Engine) nodeID() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.member.node.ID
}

// join makes this process a node.
func (e *Engine) join(ctx context.Context) error {
	e.mu.Lock()
	node := e.member.node
	e.member.sent = time.Now()
	e.mu.Unlock()
	return e.db.Join(ctx, node)
}

// renew shows that this node lives and asks who else does.
func (e *Engine) renew(ctx context.Context) (*store.Membership, error) {
	e.mu.Lock()
	if e.member.next == 0 {
		e.member.next = ident.NewCommit()
	}
	r := store.Renewal{Node: e.member.node.ID, Last: e.member.token, Next: e.member.next, Draining: e.phase == draining}
	e.mu.Unlock()
	// An answer that comes after the lease has ended is of no use.
	ctx, cancel := context.WithTimeout(ctx, e.config.Lease)
	defer cancel()
	for k := 0; ; k++ {
		sent := time.Now()
		// A connection that is dead is given up soon, a database that is slow gets
		// its time.
		try, cancel := context.WithTimeout(ctx, e.config.Lease/4<<k)
		m, err := e.db.Renew(try, r)
		late := try.Err() != nil
		cancel()
		if err == nil {
			e.renewed(sent, m)
			return m, nil
		}
		e.mu.Lock()
		e.member.failed = true
		e.mu.Unlock()
		if k == maxRenewals || ctx.Err() != nil || !late && !store.Unavailable(err) || !e.pause(renewPause) {
			return nil, err
		}
	}
}

// A renewal that got no answer is asked for again so often and after such a pause,
// before anything is made of it.
const (
	maxRenewals = 3
	renewPause  = 100 * time.Millisecond
)

// renewed notes a sign of life that was heard, drops what was lost meanwhile, and
// only then begins what waits for the lease.
func (e *Engine) renewed(sent time.Time, m *store.Membership) {
	e.clock.Observe(m.Now)
	e.mu.Lock()
	defer e.mu.Unlock()
	var lost []*partition
	for _, o := range m.Owners {
		p := e.partitions[o.Partition]
		if p != nil && (o.Node != e.member.node.ID || o.Epoch != p.epoch) {
			lost = append(lost, p)
		}
	}
	e.loseLocked(lost)
	if s := e.silence(sent); s >= e.holds() || e.member.failed && s > e.config.Lease/2 {
		e.member.returned = time.Now()
	}
	e.member.token, e.member.next, e.member.sent, e.member.failed = e.member.next, 0, sent, false
	if e.member.refused {
		e.member.refused = false
		e.serveAgain()
	}
}

// leaseHolds reports whether no other node can have taken this one's partitions.
// Writes are fenced anyway; this is for what is not a write, above all the start
// of attempts. The engine's mu is held.
func (e *Engine) leaseHolds() bool {
	if !e.db.Info().Shared {
		return true
	}
	return e.silence(time.Now()) < e.holds()
}

// holds is how long a lease holds for certain: others count from when they heard
// of it, by another clock.
func (e *Engine) holds() time.Duration { return e.config.Lease - e.config.Lease/5 }

// silence is how long before now the last renewal was sent that was answered. The
// monotonic clock stands still while the machine sleeps, the other does not;
// should somebody set that one, the next renewal puts it right.
func (e *Engine) silence(now time.Time) time.Duration {
	sent := e.member.sent
	return max(now.Sub(sent), now.Round(0).Sub(sent.Round(0)))
}

// takeFirst takes the node's share when it starts.
func (e *Engine) takeFirst(ctx context.Context) (*takeover, error) {
	m, err := e.renew(ctx)
	if err != nil {
		return nil, err
	}
	e.clock.Begin(m.Now)
	t, err := e.take(ctx, spread(e.nodeID(), m).claim)
	if err == nil {
		err = e.readWakes(ctx, t)
	}
	return t, err
}

// backOut undoes a start that failed. The next one is that of another node, unless
// the database could not be told that this one left.
func (e *Engine) backOut(ctx context.Context) error {
	e.mu.Lock()
	clear(e.partitions)
	e.recovery, e.slots.inLane = recovery{}, false
	failed := e.member.node.ID
	e.mu.Unlock()
	err := e.db.Leave(ctx, failed)
	if err == nil {
		e.mu.Lock()
		e.member = newMember(e.config)
		e.mu.Unlock()
	}
	return err
}

// dozed reports whether the machine slept since the last renewal: the monotonic
// clock stands still meanwhile, and timers are late. The engine's mu is not held.
func (e *Engine) dozed() bool {
	e.mu.Lock()
	sent := e.member.sent
	e.mu.Unlock()
	now := time.Now()
	return now.Round(0).Sub(sent.Round(0))-now.Sub(sent) > time.Second
}

// replaced drops everything, because this node is no member any more. A node with
// a name of its own gives way to its successor for good; another comes back under
// a new ID.
func (e *Engine) replaced() (goOn bool) {
	e.mu.Lock()
	all := e.served()
	old := e.member.node
	named := old.Supersede
	e.member.replaced = named
	e.mu.Unlock()
	e.lose(all...)
	if named {
		e.log.Error("perdure: another process has joined under the name of this node; this one does no more work", "name", old.Name)
		return false
	}
	e.mu.Lock()
	e.member = newMember(e.config)
	e.mu.Unlock()
	if err := e.join(e.ctx); err != nil {
		e.log.Warn("perdure: the node could not join again", "error", err)
	}
	return true
}
