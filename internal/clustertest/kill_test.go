package clustertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
)

// TestE1_E9_E80_KillNineOfNodes kills one of two nodes, or of three, again and
// again while clients start, signal and cancel. What was acknowledged comes true,
// exactly once where that is promised, and the others continue.
func TestE1_E9_E80_KillNineOfNodes(t *testing.T) {
	extent.OnlyAtNight(t, "TestE132 kills nodes, too")
	t.Parallel()
	for _, size := range []int{2, 3} {
		t.Run(fmt.Sprint(size, " nodes"), func(t *testing.T) { killSome(t, size, 5**times) })
	}
}

func killSome(t *testing.T, size, kills int) {
	c := newCluster(t, pgtest.Shared(t))
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(kills)*10*time.Second+patience)
	defer cancel()
	nodes := make([]*node, size)
	opened := make([]<-chan error, size)
	lives := 0
	bear := func(i int) {
		lives++
		s := torture.Setup{}
		if c.random.IntN(3) > 0 {
			s.Name = fmt.Sprint("node ", i) // it takes the place of its predecessor at once
		}
		nodes[i], opened[i] = c.begin(fmt.Sprintf("%d.%d", i, lives), s)
	}
	for i := range nodes {
		bear(i)
	}
	c.setCrew(nodes...)
	load := c.newLoad()
	load.Begin(ctx)
	for range kills {
		i := c.random.IntN(size)
		if c.random.IntN(4) > 0 {
			<-opened[i]
		}
		if c.random.IntN(2) == 0 {
			c.awaitProgress(load, 1+c.random.IntN(10))
		}
		select {
		case <-time.After(c.moment(lease / 2)):
		case <-nodes[i].Dead:
		}
		nodes[i].Kill()
		bear(i)
		c.setCrew(nodes...)
	}
	for i := range nodes {
		if err := <-opened[i]; err != nil {
			t.Errorf("node %s: %v", nodes[i].Label, err)
		}
	}
	end := load.End()
	c.verdict(end)
	c.awaitShares(nodes...)
	c.awaitHealth(nodes...)
	for _, n := range nodes {
		if err := n.Leave(patience); err != nil {
			t.Errorf("node %s ended with %v", n.Label, err)
		}
	}
}
