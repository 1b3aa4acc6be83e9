package engine

import (
	"context"
	"time"

	"github.com/perdure/perdure/store"
)

// The states of a node.
const (
	nodeLive     = "live"
	nodeDraining = "draining" // finishes what runs, and leaves
	nodeLeft     = "left"
	nodeExpired  = "expired" // it died: it gave no sign of life for the time of its lease, or is known to be gone
)

// Nodes returns the nodes of all groups by the time they joined.
func (e *Engine) Nodes(ctx context.Context) ([]Node, error) {
	members, err := e.db.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	nodes := make([]Node, len(members))
	for i, m := range members {
		nodes[i] = viewNode(m)
		if m.Live && m.Expires == store.Never {
			nodes[i].Seen = time.Unix(0, max(m.Seen, e.clock.Now())).UTC() // by its lock, as it writes no signs of life
		}
	}
	return nodes, nil
}

func viewNode(m store.Member) Node {
	n := Node{
		ID: m.ID, Name: m.Name, Group: m.Group, Partitions: m.Owned,
		Joined: time.Unix(0, m.Joined).UTC(), Seen: time.Unix(0, m.Seen).UTC(),
	}
	switch {
	case m.Left != 0:
		n.State = nodeLeft
		return n
	case !m.Live:
		n.State = nodeExpired
	case m.Draining:
		n.State = nodeDraining
	default:
		n.State = nodeLive
	}
	if m.Expires != store.Never {
		n.Expires = optionalTime(m.Expires)
	}
	return n
}
