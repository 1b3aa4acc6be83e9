package clustertest

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
)

// TestE7_E9_NodesStandStill stops one, two or all of three nodes under load, for
// less than their lease and for more, and lets them continue with what they had in
// their hands.
func TestE7_E9_NodesStandStill(t *testing.T) {
	extent.OnlyAtNight(t, "TestE7_I4_StaleWrites stops nodes, too")
	t.Parallel()
	c := newCluster(t, pgtest.Shared(t))
	rounds := 2 * *times
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rounds)*10*time.Second+patience)
	defer cancel()
	nodes := []*node{c.start("a", torture.Setup{}), c.start("b", torture.Setup{Name: "b"}), c.start("c", torture.Setup{})}
	c.setCrew(nodes...)
	load := c.newLoad()
	load.Begin(ctx)
	for range rounds {
		time.Sleep(c.moment(lease / 2))
		some := c.random.Perm(len(nodes))[:1+c.random.IntN(len(nodes))]
		for _, i := range some {
			nodes[i].stop()
		}
		time.Sleep(c.moment(2 * lease))
		for _, i := range some {
			nodes[i].proceed()
		}
	}
	c.awaitProgress(load, 20)
	c.conclude(load, nodes)
}
