package clustertest

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/view"
)

// TestU4_AFrozenProcessDoesNotPayWhenItWakes: it stood still just before it would have paid, until
// another node had asked, paid and ended the run. When it goes on nothing from the database
// reaches it, and the first thing that goes on is its body.
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
	s.await("the body on a goes on", func() bool { return phase(s.a, witness.GivenUp)+phase(s.a, witness.Charged) > 0 })
	if twice := phase(s.a, witness.Charged); twice > 0 || phase(s.b, witness.Charged) != 1 {
		t.Errorf("a paid %d times after it stood still, b %d times", twice, phase(s.b, witness.Charged))
	}
	s.net.Speak()
	s.outcomes(id, view.OutcomeLost, view.OutcomeAbsent, view.OutcomeCompleted)
	s.awaitShares(s.a, s.b)
	s.awaitHealth(s.a, s.b)
}
