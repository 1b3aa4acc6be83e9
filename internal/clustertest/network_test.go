package clustertest

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
)

// TestE83_CutOff cuts one of two nodes off from the database for longer than its
// lease, in every way: everything is lost on the way and arrives after all when
// the network is back, or never; what the node sends arrives and no answer does;
// or connections are cut and refused.
func TestE83_CutOff(t *testing.T) {
	extent.OnlyAtNight(t, "TestE132 cuts off nodes, too")
	t.Parallel()
	c := newCluster(t, pgtest.Shared(t))
	ways := []struct {
		name       string
		begin, end func(*proxy)
	}{
		{"what is sent arrives later", (*proxy).Mute, (*proxy).Speak},
		{"what is sent is lost", (*proxy).Mute, func(p *proxy) { p.Reset(); p.Speak() }},
		{"answers are lost", (*proxy).Deafen, func(p *proxy) { p.Reset(); p.Speak() }},
		{"nobody listens", (*proxy).Refuse, (*proxy).Accept},
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*times)*time.Minute+patience)
	defer cancel()
	net := c.newProxy()
	a, b := c.start("a", torture.Setup{Database: c.through(net), Name: "a"}), c.start("b", torture.Setup{})
	c.awaitShares(a, b)
	c.setCrew(a, b)
	load := c.newLoad()
	load.Begin(ctx)
	for range *times {
		for _, way := range ways {
			c.awaitProgress(load, 10)
			time.Sleep(c.moment(lease / 2))
			way.begin(net)
			c.setCrew(b)
			c.awaitOwner(b)
			if problem := a.health(); !strings.Contains(problem, "lease") {
				t.Errorf("%s: the node that is cut off says %q, want it to miss its lease", way.name, problem)
			}
			c.awaitProgress(load, 10)
			time.Sleep(c.moment(lease / 2))
			way.end(net)
			c.setCrew(a, b)
			c.awaitShares(a, b)
			c.awaitHealth(a, b)
		}
	}
	end := load.End()
	c.verdict(end)
}

// TestE83_LostAnswersOfCommit loses answers of COMMIT, of whatever transaction: the
// connection is cut, or silent for a while.
func TestE83_LostAnswersOfCommit(t *testing.T) {
	extent.OnlyAtNight(t, "TestE132 loses answers, too, and TestE80_HalfACommit one of a commit")
	t.Parallel()
	c := newCluster(t, pgtest.Shared(t))
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*times)*time.Minute+patience)
	defer cancel()
	nets := []*proxy{c.newProxy(), c.newProxy()}
	nodes := []*node{c.start("a", torture.Setup{Database: c.through(nets[0]), Name: "a"}), c.start("b", torture.Setup{Database: c.through(nets[1]), Name: "b"})}
	for i, net := range nets {
		lots := rand.New(rand.NewPCG(*seed, uint64(i)))
		net.Lose(func() torture.Lot {
			switch lots.IntN(60) {
			case 0, 1:
				return torture.Cut
			case 2:
				return torture.Silence
			}
			return torture.Arrives
		})
	}
	c.setCrew(nodes...)
	load := c.newLoad()
	load.Begin(ctx)
	for k := range *times {
		c.await("enough answers are lost", func() bool { return min(nets[0].Losses(), nets[1].Losses()) >= 20*(k+1) })
	}
	end := load.End()
	for _, net := range nets {
		net.Lose(nil)
	}
	c.awaitShares(nodes...)
	c.awaitHealth(nodes...)
	c.verdict(end)
	t.Logf("%d and %d answers were lost", nets[0].Losses(), nets[1].Losses())
}
