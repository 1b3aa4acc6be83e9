package clustertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
)

// TestE80_HalfACommit: a node stands still, and half of a commit of it has reached
// the server, which keeps the partition locked until it hears the rest. The other
// node cannot take that partition over; but it keeps its lease and does its own
// work, and when the rest is heard nothing is lost.
func TestE80_HalfACommit(t *testing.T) {
	t.Parallel()
	s := &stage{cluster: newCluster(t, pgtest.Shared(t))}
	s.net = s.newProxy()
	s.a, s.b = s.start("a", torture.Setup{Database: s.through(s.net)}), s.start("b", torture.Setup{})
	s.awaitShares(s.a, s.b)
	s.id = s.idOn(s.a, "run")
	holdWorker(s)
	s.net.HoldHalf("a partition has another owner")
	s.hold.Release()
	s.await("a sends half of its commit", s.net.IsHolding)
	s.a.stop()
	s.await("the lease of a runs out", func() bool { return s.shares()[s.a.Name] == 0 })
	k := 0
	for end := time.Now().Add(lease); time.Now().Before(end); k++ {
		id := s.idOn(s.b, fmt.Sprint("beside ", k))
		s.begin("worker", id)
		s.awaitEnd(id)
		if problem := s.b.health(); strings.Contains(problem, "lease") {
			t.Fatalf("the node beside says: %s", problem)
		}
	}
	s.net.LetGo()
	s.a.proceed()
	s.awaitEnd(s.id)
	s.awaitShares(s.a, s.b)
	s.awaitHealth(s.a, s.b)
	s.nothingLeft()
	s.listen()
	t.Logf("%d runs beside", k)
}
