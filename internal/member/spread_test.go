package member

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure/store"
	"pgregory.net/rapid"
)

// house is a group of nodes that share partitions, as the database knows it.
type house struct {
	owners []string        // by partition, "" if it is free
	nodes  map[string]bool // whether it is draining
}

func (h *house) membership() *store.Membership {
	m := &store.Membership{}
	for i := range 10 { // by ID, as the contract says
		id := fmt.Sprint("n", i)
		if draining, ok := h.nodes[id]; ok {
			m.Nodes = append(m.Nodes, store.Member{Node: store.Node{ID: id}, Draining: draining, Live: true})
		}
	}
	for p, node := range h.owners {
		m.Owners = append(m.Owners, store.Ownership{Partition: p, Node: node})
	}
	return m
}

// follow lets a node do what its share says; which of its partitions it gives
// away is drawn.
func (h *house) follow(t *rapid.T, node string) (moves int) {
	s := spread(node, h.membership())
	for _, p := range s.claim {
		if _, live := h.nodes[h.owners[p]]; live {
			t.Fatalf("%s claims partition %d of the live node %s", node, p, h.owners[p])
		}
		h.owners[p] = node
	}
	for range s.excess {
		var own []int
		for p, owner := range h.owners {
			if owner == node {
				own = append(own, p)
			}
		}
		h.owners[rapid.SampledFrom(own).Draw(t, "gives away")] = ""
	}
	return len(s.claim) + s.excess
}

func (h *house) check(t *rapid.T) {
	count := map[string]int{}
	for p, owner := range h.owners {
		if draining, live := h.nodes[owner]; !live || draining {
			t.Fatalf("partition %d is left to %q", p, owner)
		}
		count[owner]++
	}
	least, most := len(h.owners), 0
	for node, draining := range h.nodes {
		if !draining {
			least, most = min(least, count[node]), max(most, count[node])
		}
	}
	if most-least > 1 {
		t.Fatalf("the shares are %v", count)
	}
}

// TestE80_WorkSpreadsEvenly: whoever joins, leaves, dies or drains, the nodes come
// to even shares without a word to each other, whatever order they act in, and
// then nothing moves any more.
func TestE80_WorkSpreadsEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &house{owners: make([]string, rapid.SampledFrom([]int{1, 2, 7, 16, 256}).Draw(t, "partitions")), nodes: map[string]bool{}}
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			node := fmt.Sprint("n", rapid.IntRange(0, 9).Draw(t, "node"))
			switch draining, there := h.nodes[node]; {
			case !there:
				h.nodes[node] = false
			case !draining && rapid.Bool().Draw(t, "drains"):
				h.nodes[node] = true
			default:
				delete(h.nodes, node) // its partitions stay in its name until claimed
			}
			var workers []string
			for _, n := range h.membership().Nodes {
				if !n.Draining {
					workers = append(workers, n.ID)
				}
			}
			if len(workers) == 0 {
				continue
			}
			for round := 0; ; round++ {
				moves := 0
				var all []string
				for _, n := range h.membership().Nodes {
					all = append(all, n.ID)
				}
				for _, n := range rapid.Permutation(all).Draw(t, "order") {
					moves += h.follow(t, n)
				}
				if moves == 0 {
					break
				}
				if round > 3 {
					t.Fatalf("still moving after %d rounds", round)
				}
			}
			h.check(t)
		}
	})
}

// TestE80_SharesOfOneMomentDoNotCollide: nodes that see the same want different
// partitions, and no more than are free.
func TestE80_SharesOfOneMomentDoNotCollide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &house{owners: make([]string, rapid.IntRange(1, 40).Draw(t, "partitions")), nodes: map[string]bool{}}
		for i := range rapid.IntRange(1, 9).Draw(t, "nodes") {
			h.nodes[fmt.Sprint("n", i)] = rapid.Bool().Draw(t, "draining")
		}
		for p := range h.owners {
			h.owners[p] = rapid.SampledFrom([]string{"", "dead", "n0", "n1", "n2"}).Draw(t, "owner")
		}
		claimed := map[int]string{}
		m := h.membership()
		for _, n := range m.Nodes {
			s := spread(n.ID, m)
			if len(s.claim) > 0 && s.excess > 0 {
				t.Fatalf("%s takes %v and gives %d away", n.ID, s.claim, s.excess)
			}
			for _, p := range s.claim {
				if other, taken := claimed[p]; taken {
					t.Fatalf("partition %d is wanted by %s and %s", p, other, n.ID)
				}
				claimed[p] = n.ID
			}
		}
	})
}
