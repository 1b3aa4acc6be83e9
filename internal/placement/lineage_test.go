package placement

import (
	"context"
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/store"
)

// TestOwnersSayWhatBecameOfThem: after its last epoch a node has survived, has left, or is one of
// which only the end of its lease is known.
func TestOwnersSayWhatBecameOfThem(t *testing.T) {
	o := NewOwners([]store.Ownership{
		{Node: "survivor", Epoch: 1, Over: true}, {Node: "silent", Epoch: 2, Over: true, Survived: true}, {Node: "survivor", Epoch: 3, Over: true, Survived: true},
		{Node: "silent", Epoch: 4, Over: true}, {Node: "dead", Epoch: 5, Over: true, Ended: true}, {Node: "owner", Epoch: 6},
	})
	if !slices.Equal(o.Survivors, []string{"survivor"}) || !slices.Equal(o.Unheard, []string{"silent"}) {
		t.Errorf("%q survived, and of %q nothing is known", o.Survivors, o.Unheard)
	}
	if o.Node(6) != "owner" || o.Node(7) != "" || (*Owners)(nil).Node(6) != "" {
		t.Error("epochs belong to others")
	}
}

// owned is a store that knows the owners of a partition.
type owned struct {
	store.Store
	owners []store.Ownership
}

func (o owned) Owners(context.Context, int) ([]store.Ownership, error) { return o.owners, nil }

// TestLineageIsReadAgainAfterArrivals: owners are known once they are read, until runs have arrived,
// and while a request is in flight that may bring some nobody can know them.
func TestLineageIsReadAgainAfterArrivals(t *testing.T) {
	var l Lineage
	known := func(want bool) int {
		t.Helper()
		is, comings := l.Known()
		if is != want {
			t.Errorf("the owners are known: %t", is)
		}
		return comings
	}
	owners := []store.Ownership{{Node: "a", Epoch: 1, Over: true}, {Node: "b", Epoch: 3}}
	db := owned{owners: owners}
	read := func() {
		t.Helper()
		known(false)
		if err := l.Learn(t.Context(), db, new(outage.Watch), 0); err != nil {
			t.Error(err)
		}
	}
	read()
	before := known(true)
	l.Bring(func() {
		known(false)
		l.Bring(func() { known(false) })
		read()
		known(false)
		if !l.Since(before) || !l.Since(before+1) {
			t.Error("nothing may arrive while a request that brings runs is in flight")
		}
	})
	if known(false) == before || !l.Since(before) {
		t.Error("nothing has arrived")
	}
	read()
	if now := known(true); l.Since(now) || l.Learned() != now || !slices.Equal(l.Owners().All, owners) {
		t.Error("what was read is not known")
	}
	l.Arrived()
	read()
	known(true)
	for last, again := range map[int64]bool{1: false, 2: false, 3: true, 4: true} {
		l.CameFrom(last)
		if is, _ := l.Known(); is == again {
			t.Errorf("after a turn under epoch %d the owners are known: %t", last, is)
		}
		_ = l.Learn(t.Context(), db, new(outage.Watch), 0)
	}
}
