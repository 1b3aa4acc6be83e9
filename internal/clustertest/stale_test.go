package clustertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/retry"
)

// stage is two nodes. One of them is stopped while a statement of it is on its
// way to the database, and continues when the other has all of its work.
type stage struct {
	*cluster
	a, b *node  // a is the one that is stopped
	net  *proxy // between a and the server
	id   string // of a run on a that the statement is about
	busy string // ID of a run whose body is busy on a when that is stopped
	hold *witness.Hold
	told chan answer // what a answered to a call that waited
}

// answer is what a node answered.
type answer struct {
	run    string
	result int
	err    error
}

// moment is what a node is stopped in the middle of.
type moment struct {
	name      string
	prepare   func(s *stage)              // brings the run to the point before it
	statement func(b *torture.Batch) bool // is held back
	provoke   func(s *stage)              // makes a send it
	meanwhile func(s *stage)              // is done when a is stopped and b owns everything; nil: the run ends there
	landed    func(s *stage) bool         // the statement was executed; nil: it must be refused
	after     func(s *stage)              // looks at what became of it when a is a good node again
	owner     bool                        // it is about who owns partitions: it is not refused, but must do nothing
	night     bool                        // another moment has a write of the same way to the database
	tells     bool                        // its answer, which has arrived when a continues, tells a how it stands
}

// TestE7_I4_StaleWrites stops a node while a write of it is under way, for each kind
// of writes. The node's lease runs out, another one takes its work over, and only
// then does the write reach the database. Nothing of it may be seen there, nor in
// what the node answers when it continues; it must know what happened, say so, and
// be a good node again.
func TestE7_I4_StaleWrites(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	var cases []subtest
	for _, m := range moments {
		if m.night && !extent.Nightly() {
			continue
		}
		cases = append(cases, subtest{m.name, func(t *testing.T) { m.play(t, server) }})
	}
	together(t, cases)
}

func (m *moment) play(t *testing.T, server *pgtest.Cluster) {
	s := &stage{cluster: newCluster(t, server), told: make(chan answer, 1)}
	s.net = s.newProxy()
	s.a = s.start("a", torture.Setup{Database: s.through(s.net), Concurrency: 2})
	s.b = s.start("b", torture.Setup{})
	s.awaitShares(s.a, s.b)
	s.id, s.busy = s.idOn(s.a, "run"), s.idOn(s.a, "busy")
	s.holdOn(s.a, s.busy)
	s.begin("worker", s.busy)
	s.awaitBody(s.a, s.busy)
	waits := make(chan answer, 1)
	go func() {
		var got answer
		got.result, got.err = s.a.Result(s.busy)
		waits <- got
	}()

	m.prepare(s)
	s.net.HoldBack(m.statement)
	m.provoke(s)
	s.await("a sends its statement", s.net.IsHolding)
	s.a.stop()
	stopped := time.Now()
	s.awaitWithout(s.a)
	if took := time.Since(stopped); took > 2*lease {
		t.Errorf("it took others %s to take over, and the lease is %s", took, lease)
	}
	owners, commits := s.owners(), s.net.Commits()
	if m.meanwhile != nil {
		m.meanwhile(s)
	} else {
		s.awaitEnd(s.id)
	}
	s.awaitEnd(s.busy)
	before := s.dump()
	s.net.LetGo()
	switch {
	case m.landed != nil:
		s.await("the statement is executed", func() bool { return m.landed(s) })
	case m.owner:
		s.await("the statement is executed", func() bool { return s.net.Commits() > commits })
		if now := s.owners(); !slices.Equal(now, owners) {
			t.Errorf("the stale statement made the owners %v of %v", now, owners)
		}
	default:
		s.await("the statement is refused", func() bool { return s.net.Refusals() > 0 })
		s.unchanged(before)
	}

	// A renewal that is executed this late counts from when it was sent, which for a quick
	// takeover is less than a lease ago.
	s.await("the lease of a is over by its own count", func() bool { return time.Since(stopped) > lease })
	s.net.Mute() // so that there is time to ask it before it can know
	s.a.proceed()
	if problem := s.a.health(); !m.tells && !strings.Contains(problem, "lease") {
		t.Errorf("after it had stood still the node says %q, want it to miss its lease", problem)
	}
	s.net.Speak()
	s.returns(waits)
	s.lostFor(s.busy, retry.ReasonLeaseExpired)
	m.after(s)
	if m.landed == nil {
		s.unchanged(before)
	}
	s.works()
}

// returns looks at a after it went on: its busy body is told, the call that waits
// is answered as the database says, and it is a good node again.
func (s *stage) returns(waits <-chan answer) {
	s.t.Helper()
	begun := time.Now()
	s.await("the busy body is told", func() bool {
		return s.book.Count(func(e witness.Entry) bool {
			return e.Process == s.a.Label && e.Workflow == s.busy && e.Phase == witness.GivenUp && e.Cause == fencedCause
		}) == 1
	})
	if took := time.Since(begun); took > 2*lease {
		s.t.Errorf("it took %s until the busy body was told", took)
	}
	select {
	case got := <-waits:
		if got.err != nil || got.result != witness.Grow(1) {
			s.t.Errorf("who waited on a for the busy run was answered %+v", got)
		}
	case <-time.After(patience):
		s.t.Error("who waited on a for the busy run is not answered")
	}
	s.awaitShares(s.live()...)
	s.awaitHealth(s.live()...)
}

// works looks whether a runs what is placed on it, and nothing is left.
func (s *stage) works() {
	s.t.Helper()
	id := s.idOn(s.a, "again")
	s.begin("worker", id)
	s.awaitEnd(id)
	if n := s.book.Count(func(e witness.Entry) bool {
		return e.Workflow == id && e.Phase == witness.Done && e.Process == s.a.Label
	}); n != 1 {
		s.t.Errorf("a run that is placed on a was executed there %d times", n)
	}
	s.nothingLeft()
	s.listen()
}

// live are the nodes that were not killed.
func (s *stage) live() []*node {
	return slices.DeleteFunc(slices.Clone(s.all), func(n *node) bool {
		select {
		case <-n.Dead:
			return true
		default:
			return false
		}
	})
}

// holdOn keeps the bodies of a run waiting, on this node only.
func (s *stage) holdOn(n *node, id string) *witness.Hold {
	return s.book.Hold(func(e witness.Entry) bool {
		return e.Process == n.Label && e.Workflow == id && e.Phase == witness.Begin
	})
}

// begin starts a run by way of the client.
func (s *stage) begin(shape, id string) string {
	s.t.Helper()
	h, err := perdure.Start(s.t.Context(), s.client, *stationNamed(shape), id, 1)
	if err != nil {
		s.t.Fatal(err)
	}
	return h.RunID()
}

// owners is who owns each partition, and under which epoch.
func (s *stage) owners() []string {
	s.t.Helper()
	return s.query(`SELECT p::text FROM (SELECT id, epoch, node FROM perdure.partitions ORDER BY id) p`)
}

// awaitWithout waits until others own all partitions.
func (s *stage) awaitWithout(n *node) {
	s.t.Helper()
	s.await("others than "+n.Label+" own all partitions", func() bool {
		sum := 0
		for name, owned := range s.shares() {
			if name != n.Name {
				sum += owned
			}
		}
		return sum == partitions
	})
}

// awaitBody waits until a body of the run is busy on a node.
func (s *stage) awaitBody(n *node, id string) {
	s.t.Helper()
	s.await("a body of "+id+" begins", func() bool {
		return s.book.Count(func(e witness.Entry) bool { return e.Process == n.Label && e.Workflow == id }) > 0
	})
}

// awaitEnd waits until a run has ended.
func (s *stage) awaitEnd(id string) {
	s.t.Helper()
	s.await(id+" ends", func() bool {
		return len(s.query(`SELECT status FROM perdure.runs WHERE workflow_id = $1 AND closed > 0`, id)) == 1
	})
}

// awaitPending waits until a run has one pending call, of this state.
func (s *stage) awaitPending(id, state string) {
	s.t.Helper()
	s.await(id+" has a call that is "+state, func() bool {
		d, err := s.client.Workflow(id).Describe(s.t.Context())
		return err == nil && len(d.Pending) == 1 && d.Pending[0].State == state
	})
}

// dump is all that there is of runs.
func (s *stage) dump() []string {
	s.t.Helper()
	var rows []string
	for _, table := range []string{"runs", "turns", "calls", "attempts", "inbox"} {
		rows = append(rows, s.query(`SELECT r::text FROM perdure.`+table+` r ORDER BY 1`)...)
	}
	return rows
}

// unchanged compares the database with a dump.
func (s *stage) unchanged(before []string) {
	s.t.Helper()
	now := s.dump()
	for _, row := range before {
		if !slices.Contains(now, row) {
			s.t.Errorf("the stale write changed or deleted %s", row)
		}
	}
	for _, row := range now {
		if !slices.Contains(before, row) {
			s.t.Errorf("the stale write left %s", row)
		}
	}
}
