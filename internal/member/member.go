package member

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
)

// Config configures a member.
type Config struct {
	Store  store.Owner
	Shared bool // several nodes may serve the store at a time: see store.Info
	// Name, Group, Lease, Supersede, Build and Definitions describe the node; see store.Node.
	Name      string
	Group     string
	Lease     time.Duration
	Supersede bool

	Build       string
	Definitions string

	Clock  *clock.Clock  // follows the database's clock
	Watch  *outage.Watch // records outages of the database
	Holder Holder
	Log    *logs.Log
}

// Partition is a partition that a node serves under an epoch.
type Partition struct {
	Number int
	Epoch  int64
	Node   string // the ID under which this process owns it
	Closed bool   // nothing new starts in it; see Holder.Close
	Work   int    // how many residents and attempts of it are at work
}

// Holder works on the partitions of a node. Its methods are safe for concurrent use. They
// ignore partitions that are no longer served under the given epoch.
type Holder interface {
	// Served returns all partitions that are served, in any order.
	Served() []Partition
	// Taken begins to serve partitions that node claimed.
	Taken(node string, owned []store.Ownership)
	// Lost drops partitions that other nodes took over.
	Lost(ps []Partition)
	// Close stops new work from starting in partitions.
	Close(ps []Partition)
	// Reopen undoes Close.
	Reopen(ps []Partition)
	// DropQuiet blocks until some of the partitions are quiet or lost, or ctx ends. It drops
	// and returns the quiet ones, and returns as rest those still at work.
	DropQuiet(ctx context.Context, ps []Partition) (quiet, rest []Partition)
	// Renewed is called after each renewal of the lease, with its result.
	Renewed(*store.Membership)
}

// Member is this process as one of the nodes of its group. It is safe for concurrent use.
type Member struct {
	config Config
	ctx    context.Context
	kick   clock.Bell     // attend now
	moves  sync.WaitGroup // handovers in progress

	// sent is when the last successful renewal was sent, or when Join was called. The lease runs
	// from then, however long the reply took. It is written with mu held; each attempt reads it.
	sent atomic.Pointer[time.Time]

	mu       sync.Mutex
	node     store.Node
	joined   bool
	draining bool
	replaced bool // another process has taken this node's name
	lease    lease
	staying  map[int]time.Time // until when partitions are not chosen again to move
	moving   map[int]bool      // partitions that are closed, or dropped and not yet released
	released map[int]time.Time // when partitions were released
}

// New returns a member that has not joined. Its work ends when ctx does.
func New(ctx context.Context, c Config) *Member {
	m := &Member{config: c, ctx: ctx, kick: clock.NewBell()}
	m.begin()
	return m
}

// begin gives this process a new identity.
func (m *Member) begin() {
	m.node = store.Node{ID: m.config.Name + "/" + ident.NewToken()[:8], Name: m.config.Name, Group: m.config.Group, Lease: m.config.Lease, Supersede: m.config.Supersede,
		Build: m.config.Build, Definitions: m.config.Definitions}
	m.joined, m.replaced, m.lease = false, false, lease{}
	m.sent.Store(nil)
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
	m.sent.Store(other.sent.Load())
}

func (m *Member) id() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.node.ID
}

// Join inserts this process as a node into its group.
func (m *Member) Join(ctx context.Context) error {
	m.mu.Lock()
	node := m.node
	now := time.Now()
	m.joined = true
	m.sent.Store(&now)
	m.mu.Unlock()
	return m.config.Store.Join(ctx, node)
}

// TakeShare claims the share of a node that has just joined. It returns the partitions and the
// ID under which the node owns them, and sets the clock to the database's. It does not call
// the holder.
func (m *Member) TakeShare(ctx context.Context) (node string, owned []store.Ownership, err error) {
	ms, err := m.renew(ctx)
	if err != nil {
		return "", nil, err
	}
	m.config.Clock.Begin(ms.Now)
	return m.claim(ctx, spread(m.id(), ms).claim)
}

// BackOut undoes Join after a start that failed. The next start uses a new node ID, unless the
// database could not be told that this node leaves.
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

// Leave ends this node's membership. If the database cannot be reached, other nodes wait for
// the lease to expire.
func (m *Member) Leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	if err := m.config.Store.Leave(ctx, m.id()); err != nil {
		return fmt.Errorf("the node could not be removed from the database; other nodes take over its work when its lease expires: %w", err)
	}
	return nil
}

// Drain makes the node claim nothing more. At the next renewal it hands over all partitions.
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

// Kick makes the node attend now, because it drains or other nodes joined or left.
func (m *Member) Kick() { m.kick.Ring() }

// Health returns what currently keeps the node from its work, nil if nothing does.
func (m *Member) Health() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.joined && !m.replaced && !m.draining && m.Left() <= 0 {
		return fmt.Errorf("the lease of this node could not be renewed for %s; it starts no attempts until it is %s", time.Since(m.lastSent()).Round(time.Second), see.Failover)
	}
	return nil
}

// Replaced returns an error once another process has taken the name of this node, which ends
// its membership for good. Before that it returns nil.
func (m *Member) Replaced() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.replaced {
		return fmt.Errorf("another process has joined under the name of this node, %q; stop this one, or give it its own perdure.NodeName %s", m.node.Name, see.Nodes)
	}
	return nil
}

// rejoin drops all partitions, because this node is no longer a member. A node with a name of
// its own (Supersede) gives way to its successor for good; another node joins again under a
// new ID.
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
