package clustertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
)

// TestE131_KillNineOfWorkersAndOwners kills, by turns at random, one of two nodes that have
// the runs and one of two workers that serve their queue. Nothing is lost or doubled, no
// attempt runs in two workers, and none of them runs more than it serves.
func TestE131_KillNineOfWorkersAndOwners(t *testing.T) {
	extent.OnlyAtNight(t, "TestE132 kills workers and owners, too")
	t.Parallel()
	c := newCluster(t, pgtest.Shared(t))
	kills := 4 * *times
	all := make([]*node, 4)
	opened := make([]<-chan error, 4)
	bear := func(i, life int) {
		if i < 2 {
			all[i], opened[i] = c.begin(fmt.Sprintf("node %d.%d", i, life), torture.Setup{Queue: -1, Name: fmt.Sprint("node ", i)})
		} else { // of the one the queue is the limit, of the other the process
			all[i], opened[i] = c.begin(fmt.Sprintf("worker %d.%d", i, life), torture.Setup{Worker: true, Queue: i, Concurrency: 5 - i})
		}
	}
	for i := range all {
		bear(i, 0)
	}
	c.setCrew(all[:2]...)
	load := c.loaded(time.Duration(kills)*20*time.Second+patience, "queued")
	for life := range kills {
		i := c.random.IntN(len(all))
		<-opened[i]
		c.awaitProgress(load, 1+c.random.IntN(5))
		time.Sleep(c.moment(lease / 2))
		all[i].Kill()
		bear(i, life+1)
		c.setCrew(all[:2]...)
	}
	for i := range all {
		if err := <-opened[i]; err != nil {
			t.Errorf("node %s: %v", all[i].Label, err)
		}
	}
	c.awaitProgress(load, 20)
	end := load.End()
	c.awaitShares(all[:2]...)
	c.awaitHealth(all...)
	c.verdict(end)
	by := map[string]int{}
	for _, e := range end.Entries {
		if e.Phase == witness.Begin {
			by[e.Process]++
		}
	}
	t.Logf("attempts by process: %v", by)
}

// staged is one node and two workers, of which the first has an attempt in its hands.
func staged(t *testing.T) (s *stage, first, second *node, body *witness.Hold) {
	t.Helper()
	s = &stage{cluster: newCluster(t, pgtest.Shared(t))}
	s.a = s.start("a", torture.Setup{Queue: -1})
	s.setCrew(s.a)
	first = s.start("first", torture.Setup{Worker: true, Queue: 1})
	body = s.book.Hold(func(e witness.Entry) bool { return e.Process == first.Label && e.Phase == witness.Begin })
	t.Cleanup(body.Release)
	s.id = "queued 1"
	if _, err := s.a.Start("queued", s.id, 2); err != nil {
		t.Fatal(err)
	}
	s.awaitBody(first, s.id)
	return s, first, s.start("second", torture.Setup{Worker: true, Queue: 1}), body
}

// TestE131_AWorkerThatStoodStillIsFenced: its lease ran out, another one has done what it had
// in its hands, and what it says then counts for nothing. It continues with other work.
func TestE131_AWorkerThatStoodStillIsFenced(t *testing.T) {
	t.Parallel()
	s, first, second, body := staged(t)
	first.stop()
	s.awaitEnd(s.id)
	first.proceed()
	body.Release()
	s.await("the first says how its attempt ended", func() bool {
		return s.book.Count(func(e witness.Entry) bool { return e.Process == first.Label && e.Phase == witness.Done }) == 1
	})
	if got := s.firstCall(); got != "lost lease_expired, completed succeeded" {
		t.Errorf("the attempts are %s", got)
	}
	second.Kill()
	if _, err := s.a.Start("queued", "queued 2", 2); err != nil {
		t.Fatal(err)
	}
	s.awaitEnd("queued 2")
	s.awaitHealth(s.a, first)
	s.nothingLeft()
	s.listen()
}

// TestE131_AWorkerThatLeavesGivesBack: immediately, and no attempt is charged.
func TestE131_AWorkerThatLeavesGivesBack(t *testing.T) {
	t.Parallel()
	s, first, _, _ := staged(t)
	if err := first.Leave(time.Millisecond); err != nil {
		t.Errorf("the first ended with %v", err)
	}
	s.awaitEnd(s.id)
	if got := s.firstCall(); got != "drained drained, completed succeeded" {
		t.Errorf("the attempts are %s", got)
	}
	s.nothingLeft()
	s.listen()
}

// firstCall says what became of the attempts of the first call.
func (s *stage) firstCall() (said string) {
	s.t.Helper()
	attempts, err := s.client.Workflow(s.id).Attempts(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, a := range attempts {
		if a.Call != 1 {
			continue
		}
		if said != "" {
			said += ", "
		}
		said += a.Outcome + " " + a.Reason
	}
	return said
}
