package clustertest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
)

// TestE83_DatabaseCrashes crashes the server, as "pg_ctl stop -m immediate" does,
// under the work of two nodes, and starts it again before their leases have run
// out or after. Nothing is lost or doubled, the work continues by itself, and it
// does not end up on one node.
func TestE83_DatabaseCrashes(t *testing.T) {
	extent.OnlyAtNight(t, "TestE132 crashes the server, too")
	t.Parallel()
	server := pgtest.Start(t)
	c := newCluster(t, server)
	rounds := 2 * *times
	nodes := c.two()
	load := c.loaded(time.Duration(rounds)*10*time.Second + patience)
	for range rounds {
		c.awaitProgress(load, 20)
		time.Sleep(c.moment(lease / 4))
		server.Crash(t)
		time.Sleep(c.moment(3 * lease / 2))
		server.Restart(t)
	}
	c.awaitProgress(load, 20)
	c.conclude(load, nodes)
}

// TestE83_ShortOutageMovesNothing: while a crashed server is away for less than
// the nodes' leases, no partition changes its owner and no attempt is lost.
func TestE83_ShortOutageMovesNothing(t *testing.T) {
	extent.OnlyAtNight(t, "TestE83_ShortOutagesMoveNothing of the engine plays it in virtual time, TestE132 crashes servers")
	t.Parallel()
	server := pgtest.Start(t)
	s := &stage{cluster: newCluster(t, server)}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	const patientLease = time.Minute
	nodes := []*node{s.start("a", torture.Setup{Lease: patientLease}), s.start("b", torture.Setup{Lease: patientLease})}
	s.awaitShares(nodes...)
	s.setCrew(nodes...)
	owners := s.owners()
	load := s.newLoad()
	load.Begin(ctx)
	for range *times {
		s.awaitProgress(load, 20)
		time.Sleep(s.moment(lease / 4))
		server.Crash(t)
		for _, n := range nodes {
			s.await("node "+n.Label+" says that the database is away", func() bool { return strings.Contains(n.health(), "not available") })
		}
		server.Restart(t)
	}
	s.awaitProgress(load, 20)
	end := load.End()
	if now := s.owners(); !slices.Equal(now, owners) {
		t.Errorf("the owners were %v and are %v", owners, now)
	}
	s.awaitHealth(nodes...)
	s.verdict(end)
	s.noneLost(end)
}
