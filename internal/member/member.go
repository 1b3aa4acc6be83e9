package member

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/store"
)

// Config is what a member needs.
type Config struct {
	Store  store.Owner
	Shared bool // several nodes may serve the store at a time: see store.Info
	// Name, Group, Lease, Supersede, Build and Definitions are those of the node: see
	// store.Node.
	Name      string
	Group     string
	Lease     time.Duration
	Supersede bool

	Build       string
	Definitions string

	Clock  *clock.Clock  // is told the database's clock
	Watch  *outage.Watch // of whether the database answers
	Holder Holder
	Log    *logs.Log
}

// Partition is one that a node serves under an epoch.
type Partition struct {
	Number int
	Epoch  int64
	Node   string // the ID under which this process owns it
	Closed bool   // nothing new begins in it, see Holder.Close
	Work   int    // how much of it is at work
}

// Holder works on the partitions of a node. Its methods are safe for concurrent use.
// They ignore partitions that are not served any more under the epoch they are given.
type Holder interface {
	// Served returns all partitions that are served, in any order.
	Served() []Partition
	// Taken begins to serve partitions that node claimed.
	Taken(node string, owned []store.Ownership)
	// Lost drops partitions that other nodes took over.
	Lost(ps []Partition)
	// Close lets nothing new begin in partitions.
	Close(ps []Partition)
	// Reopen undoes Close.
	Reopen(ps []Partition)
	// DropQuiet blocks until some of the partitions are quiet or lost, or ctx ends. It
	// drops the quiet ones and returns them, and those on which work goes on.
	DropQuiet(ctx context.Context, ps []Partition) (quiet, rest []Partition)
	// Renewed says that the lease was renewed, and what that has shown.
	Renewed(*store.Membership)
}

// Member is this process as one of the nodes of its group. It is safe for concurrent
// use.
type Member struct {
	config Config
	ctx    context.Context
	kick   chan struct{}  // look around now
	moves  sync.WaitGroup // handovers under way

	mu       sync.Mutex
	node     store.Node
	joined   bool
	draining bool
	replaced bool // another process has this node's name
	lease    lease
	staying  map[int]time.Time // until when partitions are not asked again to move
	moving   map[int]bool      // partitions that are closed, or dropped and not released yet
	released map[int]time.Time // when partitions were released
}

// New returns a member that has not joined. Its work ends with ctx.
func New(ctx context.Context, c Config) *Member {
	m := &Member{config: c, ctx: ctx, kick: make(chan struct{}, 1)}
	m.begin()
	return m
}

// begin gives this process a new identity.
func (m *Member) begin() {
	m.node = store.Node{ID: m.config.Name + "/" + ident.NewToken()[:8], Name: m.config.Name, Group: m.config.Group, Lease: m.config.Lease, Supersede: m.config.Supersede,
		Build: m.config.Build, Definitions: m.config.Definitions}
	m.joined, m.replaced, m.lease = false, false, lease{}
	m.staying, m.moving, m.released = map[int]time.Time{}, map[int]bool{}, map[int]time.Time{}
}

// Impersonate gives a member that has not joined the identity of another, for tests.
func (m *Member) Impersonate(other *Member) {
	other.mu.Lock()
	node, lease := other.node, other.lease
	other.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.node, m.lease = node, lease
}

func (m *Member) id() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.node.ID
}

// Join makes this process a node.
func (m *Member) Join(ctx context.Context) error {
	m.mu.Lock()
	node := m.node
	m.joined, m.lease.sent = true, time.Now()
	m.mu.Unlock()
	return m.config.Store.Join(ctx, node)
}

// TakeShare claims the share of a node that has just joined and returns what it got, and
// the ID under which it owns that. It sets the clock to the database's. The holder is
// not told.
func (m *Member) TakeShare(ctx context.Context) (node string, owned []store.Ownership, err error) {
	ms, err := m.renew(ctx)
	if err != nil {
		return "", nil, err
	}
	m.config.Clock.Begin(ms.Now)
	return m.claim(ctx, spread(m.id(), ms).claim)
}

// BackOut undoes Join after a start that failed. The next start is that of another
// node, unless the database could not be told that this one leaves.
func (m *Member) BackOut(ctx context.Context) error {
	err := m.config.Store.Leave(ctx, m.id())
	if err == nil {
		m.mu.Lock()
		m.begin()
		m.mu.Unlock()
	}
	return err
}

// leaveTime bounds Leave.
const leaveTime = 5 * time.Second

// Leave ends this node's membership. If the database cannot be told, others wait for the
// lease to expire.
func (m *Member) Leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	if err := m.config.Store.Leave(ctx, m.id()); err != nil {
		return fmt.Errorf("the database could not be told that this node leaves; where several share it, others wait until its lease has run out: %w", err)
	}
	return nil
}

// Drain makes the node claim nothing more, and hand over all partitions when it looks
// around the next time.
func (m *Member) Drain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.draining = true
}

func (m *Member) drains() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.draining
}

// Kick makes the node look around now: it drains, or others came or went.
func (m *Member) Kick() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// Health returns what keeps the node from its work for now, nil if nothing does.
func (m *Member) Health() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.joined && !m.replaced && !m.draining && !m.holds() {
		return fmt.Errorf("the lease of this node could not be renewed for %s; it starts no attempts until it is", time.Since(m.lease.sent).Round(time.Second))
	}
	return nil
}

// Replaced returns an error once another process has taken the name of this node, which
// ends this one's membership for good; nil before.
func (m *Member) Replaced() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.replaced {
		return fmt.Errorf("another process has joined under the name of this node, %q; stop this one, or give it a name of its own", m.node.Name)
	}
	return nil
}

// rejoin drops everything, because this node is no member any more. A node with a name
// of its own gives way to its successor for good; another comes back under a new ID.
func (m *Member) rejoin() (goOn bool) {
	m.mu.Lock()
	old := m.node
	m.replaced = old.Supersede
	m.mu.Unlock()
	m.config.Holder.Lost(m.config.Holder.Served())
	if old.Supersede {
		m.config.Log.Superseded(old.Name)
		return false
	}
	m.mu.Lock()
	m.begin()
	m.mu.Unlock()
	if err := m.Join(m.ctx); err != nil {
		m.config.Log.RejoinFailed(err)
	}
	return true
}
