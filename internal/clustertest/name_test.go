package clustertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/retry"
)

// TestE7_OneNameTwoProcesses: of two processes with one name the later has it, at
// once; the earlier one stops working and says so, and that is the end of it. So
// it is if the earlier one stands still meanwhile.
func TestE7_OneNameTwoProcesses(t *testing.T) {
	t.Parallel()
	together(t, []subtest{
		{"while it works", func(t *testing.T) { succeed(t, false) }},
		{"while it stands still", func(t *testing.T) { succeed(t, true) }},
	})
}

func succeed(t *testing.T, still bool) {
	s := &stage{cluster: newCluster(t, pgtest.Shared(t))}
	const patientLease = 20 * time.Second // what happens at once is not due to that
	first := s.start("first", torture.Setup{Name: "one", Lease: patientLease})
	other := s.start("other", torture.Setup{Name: "other", Lease: patientLease})
	s.awaitShares(first, other)
	s.busy = s.idOn(first, "busy")
	s.holdOn(first, s.busy)
	s.begin("worker", s.busy)
	s.awaitBody(first, s.busy)
	if still {
		first.stop()
	}
	before := time.Now()
	second := s.start("second", torture.Setup{Name: "one", Lease: patientLease})
	s.awaitShares(second, other)
	s.awaitEnd(s.busy)
	if took := time.Since(before); took > patientLease/2 {
		t.Errorf("it took %s to take the place", took)
	}
	if still {
		first.proceed()
	}
	s.await("the body on the first is told", func() bool {
		return s.book.Count(func(e witness.Entry) bool {
			return e.Process == first.Label && e.Workflow == s.busy && e.Phase == witness.GivenUp && e.Cause == fencedCause
		}) == 1
	})
	s.await("the first says what happened", func() bool { return strings.Contains(first.health(), `under the name of this node, "one"`) })
	s.awaitHealth(second, other)
	s.outcomes(s.busy, "lost", "completed")
	if still { // else the first says that it lives, before or after the second looks
		s.lostFor(s.busy, retry.ReasonWorkerLost)
	}

	owners := s.owners()
	id := s.idOn(second, "by way of the first") // which is a client now
	if _, err := first.Start("worker", id, 1); err != nil {
		t.Errorf("a start by a call on the first: %v", err)
	}
	s.awaitEnd(id)
	for end := time.Now().Add(lease); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if now := s.owners(); !slices.Equal(now, owners) {
			t.Fatalf("the owners were %v and are %v", owners, now)
		}
	}
	if err := first.Leave(patience); err != nil {
		t.Errorf("the first ended with %v", err)
	}
	if now := s.owners(); !slices.Equal(now, owners) {
		t.Errorf("when the first left, the owners became %v of %v", now, owners)
	}
	s.awaitHealth(second, other)
	s.nothingLeft()
	s.listen()
}

// TestE7_E9_Namesakes: under load a second process starts under the name of each
// node, again and again, before the first one is gone.
func TestE7_E9_Namesakes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, pgtest.Shared(t))
	rounds := 2 * *times
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rounds)*10*time.Second+patience)
	defer cancel()
	names := []string{"one", "two"}
	nodes := make([]*node, len(names))
	for i, name := range names {
		nodes[i] = c.start(name+" 0", torture.Setup{Name: name})
	}
	c.setCrew(nodes...)
	load := c.newLoad()
	load.Begin(ctx)
	for k := range rounds {
		i := k % len(names)
		old := nodes[i]
		c.awaitProgress(load, 5)
		nodes[i] = c.start(fmt.Sprint(names[i], " ", k+1), torture.Setup{Name: names[i]})
		c.setCrew(nodes...)
		c.await("the earlier one says what happened", func() bool { return strings.Contains(old.health(), "under the name of this node") })
		if err := old.Leave(patience); err != nil {
			t.Errorf("node %s ended with %v", old.Label, err)
		}
	}
	c.awaitProgress(load, 10)
	c.conclude(load, nodes)
}
