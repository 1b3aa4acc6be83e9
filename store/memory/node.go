package memory

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/store"
)

// remembered is how many nodes are kept that are gone and own nothing.
const remembered = 100

// member is a node that has joined, and may have left.
type member struct {
	store.Node
	ordinal int
	joined  int64
	seen    int64         // last Join or Renew, by the clock
	left    int64         // 0 while it is a member
	ousted  bool          // superseded: it did not leave
	renewal store.Renewal // the latest
	alive   int64         // the moment of the last evidence that it lives
}

// moment numbers the events of nodes and owners, so that their order is known even if the
// clock stands still or goes back.
func (db *Database) moment() int64 {
	db.moments++
	return db.moments
}

// member returns the node with an ID, nil if it is unknown.
func (db *Database) member(id string) *member {
	at := slices.IndexFunc(db.nodes, func(m *member) bool { return m.ID == id })
	if at < 0 {
		return nil
	}
	return db.nodes[at]
}

func (m *member) expires() int64 { return expires(m.seen, m.Lease) }

// sign returns when a node or worker was last heard of: a sign of life from the future counts
// as one of now (store.Foresight).
func sign(seen, now int64) int64 {
	if seen > now+int64(store.Foresight) {
		return now
	}
	return seen
}

// expires returns when a lease expires that was renewed at seen.
func expires(seen int64, lease time.Duration) int64 {
	if seen > math.MaxInt64-int64(lease) {
		return store.Never
	}
	return seen + int64(lease)
}

func (m *member) live(now int64) bool { return m.left == 0 && now < m.expires() }

func (h *handle) Join(ctx context.Context, node store.Node) error {
	if err := h.writeChecked(ctx, node.Check(h.db.info)); err != nil {
		return err
	}
	defer h.done()
	db := h.db
	if known := db.member(node.ID); known != nil {
		if known.left != 0 {
			return store.ErrReplaced
		}
		return nil
	}
	mark, err := node.Mark(db.info.Location, db.mark)
	if err != nil {
		return err
	}
	db.mark = mark
	node.Codecs, node.Encodes = nil, nil
	now := db.clock()
	if node.Supersede {
		for _, m := range db.nodes {
			if m.left == 0 && m.Group == node.Group && m.Name == node.Name {
				db.end(m, now)
				m.ousted = true
			}
		}
	}
	db.forget(now)
	db.ordinal++
	db.nodes = append(db.nodes, &member{Node: node, ordinal: db.ordinal, joined: now, seen: now, alive: db.moment()})
	db.announce(store.NewsNodes)
	return nil
}

func (h *handle) Renew(ctx context.Context, renewal store.Renewal) (*store.Membership, error) {
	if err := h.writeChecked(ctx, renewal.Check()); err != nil {
		return nil, err
	}
	defer h.done()
	db := h.db
	m := db.member(renewal.Node)
	if m == nil || !m.renews(renewal) {
		return nil, store.ErrReplaced
	}
	// The node is alive, which is recorded even if it is no longer a member.
	now := db.clock()
	m.seen, m.alive = now, db.moment()
	for _, other := range db.nodes {
		other.seen = sign(other.seen, now)
	}
	if m.left != 0 {
		return nil, store.ErrReplaced
	}
	return db.membership(m, now), nil
}

// renews records a renewal, unless its numbers show that it is another process's.
func (m *member) renews(r store.Renewal) bool {
	again := m.renewal.Last == r.Last && m.renewal.Next == r.Next
	if !again && m.renewal.Next != r.Last {
		return false
	}
	m.renewal = r
	return true
}

// membership returns a member's view of its group.
func (db *Database) membership(m *member, now int64) *store.Membership {
	seen := &store.Membership{Now: now}
	for _, other := range db.nodes {
		if other.Group == m.Group && other.live(now) {
			described := db.describe(other, now)
			described.Definitions = ""
			seen.Nodes = append(seen.Nodes, described)
		}
	}
	slices.SortFunc(seen.Nodes, func(a, b store.Member) int { return strings.Compare(a.ID, b.ID) })
	for _, p := range db.these(db.groups[m.Group].All()) {
		seen.Owners = append(seen.Owners, store.Ownership{Partition: p.id, Epoch: p.epoch, Node: p.node})
	}
	for _, p := range db.these(db.groups[m.Group].All()) {
		for _, w := range p.wards {
			seen.Owners = append(seen.Owners, store.Ownership{Partition: w.id, Epoch: w.epoch, Node: w.node})
		}
	}
	return seen
}

func (h *handle) Leave(ctx context.Context, node string) error {
	if err := h.write(ctx); err != nil {
		return err
	}
	defer h.done()
	m := h.db.member(node)
	if m == nil {
		return nil
	}
	if m.left == 0 {
		h.db.end(m, h.db.clock())
		h.db.announce(store.NewsNodes)
	}
	m.alive = h.db.moment() // after the end of its epochs
	return nil
}

// end ends a membership and frees the node's partitions and wards.
func (db *Database) end(m *member, now int64) {
	m.left = max(now, 1) // even at time 0, because 0 means that it has not left
	for _, at := range db.allPlaces() {
		if at.node == m.ID {
			at.free(db.moment())
		}
	}
}

// forget drops the oldest nodes that are gone and own nothing, if there are many.
func (db *Database) forget(now int64) {
	gone := 0
	for _, m := range db.nodes {
		if !m.live(now) && db.owned(m) == 0 {
			gone++
		}
	}
	db.nodes = slices.DeleteFunc(db.nodes, func(m *member) bool {
		if gone <= remembered || m.live(now) || db.owned(m) > 0 {
			return false
		}
		gone--
		for _, p := range db.partitions {
			p.remember(m)
		}
		return true
	})
}

// owned returns how many partitions a node owns.
func (db *Database) owned(m *member) (n int) {
	for _, p := range db.partitions {
		if p.node == m.ID {
			n++
		}
	}
	return n
}

func (db *Database) describe(m *member, now int64) store.Member {
	return store.Member{
		Node: m.Node, Joined: m.joined, Seen: m.seen, Left: m.left, Superseded: m.ousted, Draining: m.renewal.Draining,
		Live: m.live(now), Expires: m.expires(), Owned: db.owned(m), Ordinal: m.ordinal,
	}
}

func (h *handle) Nodes(ctx context.Context) ([]store.Member, error) {
	if err := h.read(ctx); err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	now := h.db.clock()
	var members []store.Member
	for _, m := range h.db.nodes {
		members = append(members, h.db.describe(m, now))
	}
	slices.SortStableFunc(members, func(a, b store.Member) int { return cmp.Compare(a.Joined, b.Joined) })
	return members, nil
}
