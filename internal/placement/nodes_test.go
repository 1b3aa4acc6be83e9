package placement

import (
	"context"
	"testing"

	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// group is a store that knows nodes.
type group struct {
	store.Store
	nodes []store.Member
}

func (g group) Nodes(context.Context) ([]store.Member, error) { return g.nodes, nil }

// TestARunGoesOnWhereTheCodeIsThatItHadLast, if such a node is there, else at any whose code was not
// tried.
func TestARunGoesOnWhereTheCodeIsThatItHadLast(t *testing.T) {
	var nodes []store.Member
	for id, build := range map[string]string{"gone": "one", "a": "one", "b": "two", "c": "two", "d": "two"} {
		defined := record.Definitions{Workflows: []record.Workflow{{Name: "order"}}}
		nodes = append(nodes, store.Member{Node: store.Node{ID: id, Build: build, Definitions: defined.Encode()}, Live: id != "gone"})
	}
	n := New(Config{Context: t.Context(), Store: group{nodes: nodes}, Watch: new(outage.Watch)})
	if got := n.Fitting("order", "gone", "", nil); got != "a" {
		t.Errorf("a run of the build of a node that is gone goes on at %q", got)
	}
	if got := n.Fitting("order", "gone", "", []string{record.Fingerprint("", "one")}); got == "a" || got == "" {
		t.Errorf("a run for which its code was tried goes on at %q", got)
	}
	if got := n.Fitting("order", "b", "one", nil); got != "a" {
		t.Errorf("a run that is pinned goes on at %q", got)
	}
	if got := n.Fitting("bill", "a", "", nil); got != "" {
		t.Errorf("a run that nobody can run goes on at %q", got)
	}
}

// TestWardsAreNewOnce: who relied on hearing everything here looks again when a partition gets its first
// ward, and not with each renewal.
func TestWardsAreNewOnce(t *testing.T) {
	n := New(Config{})
	with := &store.Membership{Owners: []store.Ownership{{Partition: 1}, {Partition: store.Place(1, 1)}, {Partition: store.Place(1, 2)}}}
	if fresh := n.See(with); len(fresh) != 1 || !fresh[1] || !n.HasWards(1) {
		t.Errorf("new are %v", fresh)
	}
	if fresh := n.See(with); fresh[1] {
		t.Errorf("new again are %v", fresh)
	}
	if n.See(&store.Membership{Owners: with.Owners[:1]}); n.HasWards(1) {
		t.Error("a ward that is dissolved is there")
	}
}
