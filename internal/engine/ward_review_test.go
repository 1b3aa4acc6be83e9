package engine_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/store"
)

// TestE117_WhoFindsNoNodeLooksAgain: in the moment in which the home of a run looks for a node
// that has its code, the node that has it seems to be gone, or nothing can be read of nodes. The
// run is not held for good: no node comes or goes after that.
func TestE117_WhoFindsNoNodeLooksAgain(t *testing.T) {
	for name, nodes := range map[string]func(all []store.Member) error{
		"the node seems to be gone": func(all []store.Member) error {
			for i := range all {
				all[i].Live = all[i].Live && all[i].Name != "a"
			}
			return nil
		},
		"the database is away":     func([]store.Member) error { return &store.UnavailableError{Err: errors.New("away")} },
		"nothing is read of nodes": func([]store.Member) error { return errors.New("no") },
	} {
		t.Run(name, func(t *testing.T) {
			inAGroupOf(t, 1, func(t *testing.T, w *world) {
				db := &stalled{Opener: w.db}
				c := w.config(nothing)
				c.Store, c.Node, c.Build = db, "b", "2"
				w.startWith(c)
				a := w.versionNode("a", "1", pinnedOrder("1"))
				client := w.open(w.config())
				pass(time.Minute)
				db.nodes.Store(&nodes)
				pass(5 * time.Second)
				beginOrders(t, a, pinnedOrder("1"), 1)
				pass(time.Second)
				if d := describe(t, client, "order-0"); d.Away != "" {
					t.Fatalf("the run is at %q", d.Away)
				}
				db.nodes.Store(nil)
				pass(time.Minute)
				if d := describe(t, client, "order-0"); d.Away != "a" || d.Status != "running" {
					t.Errorf("the run is %s at %q: %s", d.Status, d.Away, d.Reason)
				}
			})
		})
	}
}

// TestE117_ANodeComesWhileARunIsHeld: between the moment in which no other node had the run's
// code and the commit that says so, a node with it joins, and held runs are reviewed. That
// review cannot see the run.
func TestE117_ANodeComesWhileARunIsHeld(t *testing.T) {
	inAGroupOf(t, 1, func(t *testing.T, w *world) {
		v := newTwoVersions()
		a := w.versionNode("a", "old", v.old, v.mark)
		begin(t, a, v.old, "order-0", 0)
		pass(time.Second)
		stop(t, a)
		db := &stalled{Opener: w.db}
		slow := func(turns []store.Turn) {
			if slices.ContainsFunc(turns, func(t store.Turn) bool { return t.State != nil && t.State.Status == store.Parked }) {
				time.Sleep(30 * time.Second)
			}
		}
		db.write.Store(&slow)
		c := w.config(v.new, v.mark)
		c.Store, c.Node, c.Build = db, "b", "new"
		b := w.startWith(c)
		signal(t, b, "order-0", "proceed", "", "now")
		pass(time.Second)
		w.versionNode("a", "old", v.old, v.mark)
		pass(2 * time.Minute)
		wantAll(t, b, "completed", "order-%d", 1)
		v.wantOnce(t, "order-%d", 1, didOld)
	})
}
