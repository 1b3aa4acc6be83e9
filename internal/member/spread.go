package member

import (
	"cmp"
	"slices"

	"github.com/perdure/perdure/store"
)

// share is what a node must do to get an even share of the partitions.
type share struct {
	claim  []int // free partitions to claim
	excess int   // how many of its own partitions to hand over
}

// spread computes the share of a node. Nodes that see the same members and owners compute
// shares that fit together, so they need not communicate: shares differ by at most one, no
// partition moves without need, and no two nodes claim the same partition.
func spread(me string, m *store.Membership) share {
	owned := map[string]int{} // by live node
	var workers []string      // live nodes that are not draining, by ID
	for _, n := range m.Nodes {
		owned[n.ID] = 0
		if !n.Draining {
			workers = append(workers, n.ID)
		}
	}
	var free []int
	partitions := 0
	for _, o := range m.Owners {
		if _, ward := store.SplitPlace(o.Partition); ward != 0 {
			continue // a ward stays with its node until it is dissolved
		}
		partitions++
		if _, live := owned[o.Node]; live {
			owned[o.Node]++
		} else {
			free = append(free, o.Partition)
		}
	}
	if !slices.Contains(workers, me) {
		return share{excess: owned[me]}
	}
	target := targets(partitions, workers, owned)
	for _, id := range workers {
		lacking := min(max(target[id]-owned[id], 0), len(free))
		if id == me {
			return share{claim: free[:lacking], excess: max(owned[me]-target[me], 0)}
		}
		free = free[lacking:]
	}
	return share{}
}

// targets divides the partitions among the workers. If they do not divide evenly, the workers
// that own most keep one more.
func targets(partitions int, workers []string, owned map[string]int) map[string]int {
	byOwned := slices.Clone(workers)
	slices.SortStableFunc(byOwned, func(a, b string) int {
		return cmp.Or(cmp.Compare(owned[b], owned[a]), cmp.Compare(a, b))
	})
	target := map[string]int{}
	for i, id := range byOwned {
		target[id] = partitions / len(workers)
		if i < partitions%len(workers) {
			target[id]++
		}
	}
	return target
}
