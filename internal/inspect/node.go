package inspect

import (
	"context"

	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Nodes returns the nodes of all groups by the time they joined.
func (in *Inspector) Nodes(ctx context.Context) ([]view.Node, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
	members, err := in.db.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := in.db.Workers(ctx)
	if err != nil {
		return nil, err
	}
	nodes := make([]view.Node, len(members), len(members)+len(workers))
	for i, m := range members {
		nodes[i] = nodeOf(m)
		if m.Live && m.Expires == store.Never {
			nodes[i].Seen = at(max(m.Seen, in.now())) // its lock proves that it is alive; it renews no lease
		}
	}
	return in.addWorkers(nodes, workers), nil
}

func nodeOf(m store.Member) view.Node {
	n := view.Node{
		ID: m.ID, Name: m.Name, Group: m.Group, Partitions: m.Owned,
		Joined: at(m.Joined), Seen: at(m.Seen), Build: m.Build,
	}
	// Unreadable definitions come from a later version and are not shown.
	if all, err := record.DecodeDefinitions(m.Definitions); err == nil {
		for _, w := range all.Workflows {
			n.Workflows = append(n.Workflows, view.Definition{Name: w.Name, Version: w.Version})
		}
		n.Activities = all.Activities
	}
	switch {
	case m.Left != 0:
		n.State, n.Ended = view.NodeLeft, optional(m.Left)
		if m.Superseded {
			n.State = view.NodeDied
		}
		return n
	case !m.Live:
		n.State = view.NodeExpired
		if n.Ended = &n.Seen; m.Expires != store.Never {
			n.Ended = optional(m.Expires)
		}
	case m.Draining:
		n.State = view.NodeDraining
	default:
		n.State = view.NodeLive
	}
	if m.Expires != store.Never {
		n.Expires = optional(m.Expires)
	}
	return n
}
