package placement

import (
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/store"
)

// place is a location with something of its owner's.
type place struct{ Location }

func taken(number int, epoch int64) *place {
	p := &place{}
	p.Own(store.Ownership{Partition: number, Epoch: epoch}, "node")
	return p
}

// TestLocationsAreServedUntilTheyAreLost: one that is taken again is another one, and of it the first
// knows.
func TestLocationsAreServedUntilTheyAreLost(t *testing.T) {
	var ls Locations[*place]
	ward := store.Place(3, 2)
	a, b, w := taken(3, 1), taken(4, 1), taken(ward, 1)
	ls.Add([]*place{a, b, w})
	if ls.At(3) != a || ls.At(9) != nil || ls.Under(a.Tenure()) != a || ls.Under(dispatch.Tenure{Partition: 3, Epoch: 2}) != nil || ls.Count() != 3 {
		t.Error("others are served than those that were added")
	}
	if got := ls.Partitions(); !slices.Equal(got, []int{3, 4}) {
		t.Errorf("the partitions are %v", got)
	}
	b.Close()
	if open := ls.Open(); slices.Contains(open, b) || len(open) != 2 || b.Lost() {
		t.Error("a location that is being handed over is looked after, or lost")
	}
	b.Reopen()
	ls.Drop([]*place{a})
	if !a.Lost() || ls.At(3) != nil || !ls.ServesAny(3) || ls.Count() != 2 || len(ls.Open()) != 2 {
		t.Error("a location that was dropped is served, or its ward is not")
	}
	again := taken(4, 2)
	ls.Add([]*place{again})
	if !b.Lost() || again.Lost() || ls.At(4) != again {
		t.Error("a location that was taken again is served under its first tenure")
	}
	ls.Drop([]*place{b})
	if again.Lost() || ls.At(4) != again {
		t.Error("who loses a tenure loses a later one")
	}
}

// TestWardsOfNodesThatAreGone: they are orphans if their home is here.
func TestWardsOfNodesThatAreGone(t *testing.T) {
	var ls Locations[*place]
	home, ward := taken(1, 1), taken(store.Place(5, 7), 1)
	ls.Add([]*place{home, ward})
	shared, orphans := ls.Wards(&store.Membership{
		Nodes: []store.Member{{Node: store.Node{ID: "live"}}},
		Owners: []store.Ownership{
			{Partition: 1, Node: "node"}, {Partition: store.Place(1, 2), Node: "live"}, {Partition: store.Place(1, 3), Node: "gone"},
			{Partition: store.Place(5, 7), Node: "node"}, {Partition: store.Place(6, 1), Node: "gone"},
		},
	})
	if !slices.Equal(shared, []*place{home, home, ward}) {
		t.Errorf("runs are shared with %v", Numbers(shared))
	}
	if len(orphans) != 1 || orphans[0].Of != home || orphans[0].Ward != 3 {
		t.Errorf("the orphans are %+v", orphans)
	}
}
