package clustertest

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/pgtest"
)

// TestE83_CutOff cuts one of two nodes off from the database for longer than its
// lease, in every way: everything is lost on the way and arrives after all when
// the network is back, or never; or connections are cut and refused.
func TestE83_CutOff(t *testing.T) {
	t.Parallel()
	c := newCluster(t, pgtest.Shared(t))
	ways := []struct {
		name       string
		begin, end func(*proxy)
	}{
		{"what is sent arrives later", (*proxy).mute, (*proxy).speak},
		{"what is sent is lost", (*proxy).mute, func(p *proxy) { p.reset(); p.speak() }},
		{"nobody listens", (*proxy).refuse, (*proxy).accept},
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*times)*time.Minute+patience)
	defer cancel()
	net := c.newProxy()
	a, b := c.start("a", Setup{Database: c.through(net), Name: "a"}), c.start("b", Setup{})
	c.awaitShares(a, b)
	c.setCrew(a, b)
	load := c.load()
	load.Begin(ctx)
	for range *times {
		for _, way := range ways {
			c.awaitProgress(load, 10)
			time.Sleep(c.moment(lease / 2))
			way.begin(net)
			c.setCrew(b)
			c.awaitOwner(b)
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
	t.Parallel()
	c := newCluster(t, pgtest.Shared(t))
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*times)*time.Minute+patience)
	defer cancel()
	var nodes []*node
	var nets []*proxy
	for i, label := range []string{"a", "b"} {
		net := c.newProxy()
		lots := rand.New(rand.NewPCG(*seed, uint64(i)))
		net.set(func() {
			net.lose = func() lot {
				switch lots.IntN(60) {
				case 0, 1:
					return cut
				case 2:
					return silence
				}
				return arrives
			}
		})
		nodes, nets = append(nodes, c.start(label, Setup{Database: c.through(net), Name: label})), append(nets, net)
	}
	c.setCrew(nodes...)
	load := c.load()
	load.Begin(ctx)
	c.await("enough answers are lost", func() bool { return min(nets[0].losses(), nets[1].losses()) >= 40**times })
	end := load.End()
	for _, net := range nets {
		net.set(func() { net.lose = nil })
	}
	c.awaitShares(nodes...)
	c.awaitHealth(nodes...)
	c.verdict(end)
	t.Logf("%d and %d answers were lost", nets[0].losses(), nets[1].losses())
}
