package clustertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
)

// TestE9_E83_Everything does to three nodes and their server, at random, all that
// the other tests do one by one, while earlier troubles may not be over yet.
func TestE9_E83_Everything(t *testing.T) {
	extent.OnlyAtNight(t, "TestE132 does everything at once, too")
	t.Parallel()
	server := pgtest.Start(t)
	z := &zoo{cluster: newCluster(t, server), nodes: make([]*node, 3), nets: make([]*proxy, 3)}
	rounds := 3 * *times
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rounds)*20*time.Second+patience)
	defer cancel()
	for i := range z.nodes {
		z.nets[i] = z.newProxy()
		z.bear(i)
		z.relieve(i)
	}
	z.load = z.cluster.newLoad()
	z.load.Begin(ctx)
	for range rounds {
		z.trouble()
	}
	for i := range z.nodes {
		z.relieve(i)
	}
	z.awaitProgress(z.load, 20)
	end := z.load.End()
	z.awaitShares(z.nodes...)
	z.awaitHealth(z.nodes...)
	z.verdict(end)
	t.Logf("the troubles were %v", z.troubles)
}

// zoo is three nodes in troubles.
type zoo struct {
	*cluster
	nodes    []*node
	nets     []*proxy // of each
	opened   [3]<-chan error
	stopped  [3]bool
	lives    int
	troubles []string
}

// bear gives a node its next life.
func (z *zoo) bear(i int) {
	z.lives++
	s := torture.Setup{Database: z.through(z.nets[i])}
	if z.random.IntN(2) == 0 {
		s.Name = fmt.Sprint("node ", i)
	}
	z.nodes[i], z.opened[i] = z.begin(fmt.Sprintf("%d.%d", i, z.lives), s)
	z.stopped[i] = false
	z.setCrew(slices.DeleteFunc(slices.Clone(z.nodes), func(n *node) bool { return n == nil })...)
}

// relieve ends the troubles of a node, dead ones by another life.
func (z *zoo) relieve(i int) {
	z.t.Helper()
	z.nets[i].Relieve()
	if z.stopped[i] {
		z.nodes[i].proceed()
		z.stopped[i] = false
	}
	for err := range z.opened[i] {
		if err != nil { // its start met a trouble; whoever runs it starts it again
			z.nodes[i].Kill()
			z.bear(i)
			z.relieve(i)
		}
	}
}

// trouble makes one more, or ends one.
func (z *zoo) trouble() {
	z.t.Helper()
	i := z.random.IntN(len(z.nodes))
	net := z.nets[i]
	kinds := []struct {
		name  string
		begin func()
	}{
		{"killed", func() { z.nodes[i].Kill(); z.bear(i) }},
		{"stopped", func() {
			if !z.stopped[i] {
				z.nodes[i].stop()
				z.stopped[i] = true
			}
		}},
		{"muted", net.Mute},
		{"deafened", net.Deafen},
		{"refused", net.Refuse},
		{"reset", net.Reset},
		{"losing", func() {
			lots := rand.New(rand.NewPCG(*seed, uint64(len(z.troubles))))
			net.Lose(func() torture.Lot { return torture.Lot(lots.IntN(12) / 10) })
		}},
		{"database crash", func() {
			z.server.Crash(z.t)
			time.Sleep(z.moment(lease))
			z.server.Restart(z.t)
		}},
		{"relieved", func() { z.relieve(i) }},
		{"relieved", func() { z.relieve(i) }},
	}
	k := kinds[z.random.IntN(len(kinds))]
	z.troubles = append(z.troubles, fmt.Sprint(k.name, " ", i))
	k.begin()
	time.Sleep(z.moment(lease))
}
