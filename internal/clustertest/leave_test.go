package clustertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
)

// TestE64_E80_Leaving: under load one node after the other leaves in good order,
// and another one joins. Others own its partitions at once, long before its lease
// would run out, and no attempt is lost or charged for it.
func TestE64_E80_Leaving(t *testing.T) {
	t.Parallel()
	c := newCluster(t, pgtest.Shared(t))
	rounds := 2 * *times
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rounds)*10*time.Second+patience)
	defer cancel()
	const patientLease = 20 * time.Second
	join := func(k int) *node { return c.start(fmt.Sprint("node ", k), torture.Setup{Lease: patientLease}) }
	old := join(0)
	c.setCrew(old)
	load := c.newLoad()
	load.Begin(ctx)
	for k := range rounds {
		next := join(k + 1)
		c.awaitShares(old, next)
		c.setCrew(old, next)
		c.awaitProgress(load, 10)
		time.Sleep(c.moment(lease / 4))
		c.setCrew(next)
		if err := old.Leave(c.moment(lease / 2)); err != nil {
			t.Errorf("node %s ended with %v", old.Label, err)
		}
		gone := time.Now()
		c.awaitOwner(next)
		if took := time.Since(gone); took > patientLease/2 {
			t.Errorf("it took %s until others owned the partitions of a node that had left", took)
		}
		old = next
	}
	end := load.End()
	c.verdict(end)
	c.noneLost(end)
}

// noneLost looks whether attempts were lost, or failed that were not told to.
func (c *cluster) noneLost(end witness.Case) {
	c.t.Helper()
	failed := map[string]bool{} // attempts that were told to
	for _, e := range end.Entries {
		failed[e.Attempt] = failed[e.Attempt] || e.Phase == witness.Failed
	}
	for _, r := range end.Runs {
		attempts, err := c.client.Workflow(r.ID).Attempts(c.t.Context())
		if err != nil {
			c.t.Fatal(err)
		}
		for _, a := range attempts {
			if a.Outcome == "lost" || a.Outcome == "failed" && !failed[a.ID] {
				c.t.Errorf("%s: attempt %s of %s was %s (%s)", r.ID, a.ID, a.Name, a.Outcome, a.Reason)
			}
		}
	}
}

// TestE64_LeavingWithoutTheDatabase: a node that cannot reach the database stops
// all the same, in bounded time. Its work continues elsewhere when its lease is over.
func TestE64_LeavingWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	together(t, []subtest{
		{"with nothing to do", func(t *testing.T) { leaveSilently(t, false) }},
		{"with a body that is busy", func(t *testing.T) { leaveSilently(t, true) }},
	})
}

func leaveSilently(t *testing.T, busy bool) {
	s := &stage{cluster: newCluster(t, pgtest.Shared(t))}
	s.net = s.newProxy()
	s.a, s.b = s.start("a", torture.Setup{Database: s.through(s.net)}), s.start("b", torture.Setup{})
	s.awaitShares(s.a, s.b)
	s.id = s.idOn(s.a, "run")
	if busy {
		holdWorker(s)
	}
	s.net.Mute()
	left := make(chan error, 1)
	begun := time.Now()
	go func() { left <- s.a.Leave(lease / 4) }()
	select {
	case err := <-left:
		t.Logf("after %s it ended with %v", time.Since(begun), err)
	case <-time.After(patience / 2):
		t.Fatal("it does not end")
	}
	s.awaitOwner(s.b)
	if busy {
		s.awaitEnd(s.id)
		s.outcomes(s.id, "lost", "completed")
	}
	s.awaitHealth(s.b)
	s.nothingLeft()
}
