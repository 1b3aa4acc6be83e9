package clustertest

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/view"
)

var payKills = flag.Int("pay-kills", extent.AtNight(30, 300), "how often one of two nodes that pay is killed")

// TestU4_AFrozenProcessDoesNotPayWhenItWakes: it stood still just before it would have paid, until
// another node had asked, paid and ended the run. When it continues, nothing from the database
// reaches it, and the first thing that continues is its body.
func TestU4_AFrozenProcessDoesNotPayWhenItWakes(t *testing.T) {
	t.Parallel()
	s := &stage{cluster: newCluster(t, pgtest.Shared(t))}
	s.net = s.newProxy()
	s.a = s.start("a", torture.Setup{Database: s.through(s.net)})
	s.b = s.start("b", torture.Setup{})
	s.awaitShares(s.a, s.b)
	id := s.idOn(s.a, "pay")
	hold := s.holdOn(s.a, id)
	s.begin("payer", id)
	s.awaitBody(s.a, id)
	s.a.stop()
	stopped := time.Now()
	s.awaitEnd(id)
	s.await("the lease of a is over by its own count", func() bool { return time.Since(stopped) > lease })
	s.net.Mute()
	hold.Release()
	s.a.proceed()
	phase := func(n *node, phase string) int {
		return s.book.Count(func(e witness.Entry) bool { return e.Workflow == id && e.Process == n.Label && e.Phase == phase })
	}
	s.await("the body on a continues", func() bool { return phase(s.a, witness.GivenUp)+phase(s.a, witness.Charged) > 0 })
	if twice := phase(s.a, witness.Charged); twice > 0 || phase(s.b, witness.Charged) != 1 {
		t.Errorf("a paid %d times after it stood still, b %d times", twice, phase(s.b, witness.Charged))
	}
	s.net.Speak()
	s.outcomes(id, view.OutcomeLost, view.OutcomeAbsent, view.OutcomeCompleted)
	s.awaitShares(s.a, s.b)
	s.awaitHealth(s.a, s.b)
}

// TestU9_TwoNodesPayOnceHoweverOftenTheyAreKilled: a provider without idempotency keys does the
// work and loses the answer one time in five, or sends it too late, and one of two nodes is killed
// again and again. Nothing is paid twice or not at all, and each question is on record.
func TestU9_TwoNodesPayOnceHoweverOftenTheyAreKilled(t *testing.T) {
	t.Parallel()
	c := newCluster(t, pgtest.Shared(t))
	n := *payKills
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*5*time.Second+patience)
	defer cancel()
	nodes, opened := make([]*node, 2), make([]<-chan error, 2)
	bear := func(i, life int) {
		s := torture.Setup{}
		if c.random.IntN(4) > 0 {
			s.Name = fmt.Sprint("node ", i) // it takes the place of its predecessor at once
		}
		nodes[i], opened[i] = c.begin(fmt.Sprintf("%d.%d", i, life), s)
		c.setCrew(nodes...)
	}
	bear(0, 0)
	bear(1, 0)
	load := c.newLoad()
	load.Only = []string{"paid"}
	load.Begin(ctx)
	for life := range n {
		if life > 0 && life%1000 == 0 {
			t.Logf("%d kills, %d runs", life, load.Finished())
		}
		i := c.random.IntN(2)
		if c.random.IntN(8) > 0 {
			<-opened[i]
			load.Progress(c.random.IntN(16))
		}
		select {
		case <-time.After(c.moment(10 * time.Millisecond)):
		case <-nodes[i].Dead:
		}
		nodes[i].Kill()
		c.all = slices.DeleteFunc(c.all, func(dead *node) bool { return dead == nodes[i] && len(dead.Complaints()) == 0 })
		bear(i, life+1)
	}
	for i := range nodes {
		if err := <-opened[i]; err != nil {
			t.Errorf("node %s: %v", nodes[i].Label, err)
		}
	}
	end := load.End()
	c.verdict(end)
	charged, questions := map[string]int{}, map[string]int{}
	for _, e := range end.Entries {
		if e.Phase == witness.Charged {
			charged[e.Key]++
		}
	}
	for key, times := range charged {
		if times > 1 {
			t.Errorf("call %s was charged %d times", key, times)
		}
	}
	for _, r := range end.Runs {
		attempts, err := c.client.Workflow(r.ID).Attempts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range attempts {
			if a.Question > 0 {
				questions[a.Outcome]++
			}
		}
	}
	if questions[view.OutcomeFound]+questions[view.OutcomeAbsent] < n/20 || len(end.Runs) < n/4 {
		t.Errorf("%d kills, and only %d runs and these questions: %v", n, len(end.Runs), questions)
	}
	t.Logf("%d charges, questions: %v", len(charged), questions)
}
