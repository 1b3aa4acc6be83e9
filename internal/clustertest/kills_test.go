package clustertest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
)

var kills = flag.Int("kills", extent.AtNight(8, 200), "how many processes TestE132 kills")

// TestE132_KillsOfEverything kills nodes, workers and database servers one after the other,
// at random, while the network cuts and loses what it likes: kill -9 of a process, the
// immediate shutdown of the server, and another kill of that after which its synchronous
// standby is promoted. Each next life of a node is of one of two builds, which do not fit
// each other's runs of one workflow. No acknowledged run is lost, no effect is doubled that is not on
// record, nothing is orphaned, each answer that a client got is true, and no process ends
// by itself or keeps what is wrong to itself.
func TestE132_KillsOfEverything(t *testing.T) {
	t.Parallel()
	h := newHavoc(t)
	h.load = h.loadedWith(map[string]witness.Job{"route": witness.Routing}, time.Duration(*kills)*20*time.Second+2*patience, "queued", "route")
	began := time.Now()
	for n := range *kills {
		switch {
		case n%25 == 7:
			h.failOver()
		case n%8 == 3:
			h.crash()
		default:
			h.kill(h.random.IntN(len(h.all)))
		}
		if n%3 == 0 {
			h.trouble()
		}
		if n%10 == 9 {
			h.relieve()
			h.awaitProgress(h.load, 10)
		}
		time.Sleep(h.moment(lease / 2))
	}
	h.relieve()
	h.awaitProgress(h.load, 20)
	end := h.load.End()
	h.awaitShares(h.nodes()...)
	h.awaitHealth(h.all...)
	h.verdict(end)
	t.Logf("in %s: %v", time.Since(began).Round(time.Second), h.done)
	h.sum(end)
}

// havoc is two nodes and two workers, each behind a network of its own, and two servers.
type havoc struct {
	*cluster
	outside  *proxy // of the clients
	nets     []*proxy
	all      []*node // two nodes, then two workers
	opened   []<-chan error
	standby  *pgtest.Cluster
	troubled []bool
	lives    int
	builds   [2]string // of the nodes
	done     map[string]int
}

func newHavoc(t *testing.T) *havoc {
	t.Helper()
	primary := pgtest.Start(t, pgtest.Replicating()...)
	primary.Database(t) // which the standby has, too
	standby := primary.Standby(t)
	h := &havoc{standby: standby, outside: newProxy(t, primary.Socket()), all: make([]*node, 4), opened: make([]<-chan error, 4), troubled: make([]bool, 4), done: map[string]int{}}
	h.cluster = newClusterAt(t, primary, h.outside.dsn("test_1"))
	h.allow = "the code does not fit the history" // while no node of the other build is there
	for i := range h.all {
		h.nets = append(h.nets, h.newProxy())
		h.bear(i)
	}
	h.relieve()
	return h
}

func (h *havoc) nodes() []*node { return h.all[:2] }

var builds = []string{witness.OldBuild, witness.NewBuild}

// bear begins the next life of a process.
func (h *havoc) bear(i int) {
	h.t.Helper()
	h.lives++
	s, kind := torture.Setup{Database: h.through(h.nets[i]), Queue: -1}, "node"
	if i >= 2 {
		s.Worker, s.Queue, kind = true, 3, "worker"
	} else {
		before := h.builds[i]
		if h.builds[i] = builds[h.random.IntN(2)]; before != "" && before != h.builds[i] {
			h.done["deploy"]++
		}
		s.Build = h.builds[i]
	}
	if h.random.IntN(2) == 0 {
		s.Name = fmt.Sprint(kind, " ", i)
	}
	h.all[i], h.opened[i] = h.begin(fmt.Sprintf("%s %d.%d", kind, i, h.lives), s)
	h.setCrew(slices.DeleteFunc(slices.Clone(h.nodes()), func(n *node) bool { return n == nil })...)
}

// kill is kill -9 of a process that has not ended by itself, and its next life.
func (h *havoc) kill(i int) {
	h.t.Helper()
	h.done[[]string{"node", "worker"}[i/2]]++
	h.stillThere(i)
	h.all[i].Kill()
	h.bear(i)
}

// stillThere makes sure that a process is there that nobody killed. One that could not open the
// database ends, and whoever runs it starts it again.
func (h *havoc) stillThere(i int) {
	h.t.Helper()
	select {
	case <-h.all[i].Dead:
		h.t.Errorf("node %s has ended by itself: %v", h.all[i].Label, h.all[i].Err)
	default:
	}
}

// crash is the immediate shutdown of the server, which comes back. Whoever is open says
// meanwhile that it is away.
func (h *havoc) crash() {
	h.t.Helper()
	h.done["server"]++
	h.server.Crash(h.t)
	h.say()
	h.server.Restart(h.t)
}

// failOver crashes the server and promotes its standby, to which the network leads then.
func (h *havoc) failOver() {
	h.t.Helper()
	h.done["failover"]++
	h.server.Crash(h.t)
	h.say()
	h.standby.Promote(h.t)
	h.server = h.standby
	for _, p := range append(slices.Clone(h.nets), h.outside) {
		p.Lead(dial(h.server.Socket()))
	}
	h.standby = h.server.Standby(h.t)
}

// say waits until all nodes that are open, and stand in no other trouble, say that the
// database is away.
func (h *havoc) say() {
	h.t.Helper()
	for i, n := range h.all {
		select {
		case err := <-h.opened[i]:
			switch {
			case err != nil: // its start met a trouble
				n.Kill()
				h.bear(i)
			case !h.troubled[i]:
				h.await("node "+n.Label+" says that the database is away", func() bool { return n.health() != "" })
			}
		default: // its start waits for the database, or fails
		}
	}
}

// trouble begins one of the network of a process, which relieve ends.
func (h *havoc) trouble() {
	i := h.random.IntN(len(h.nets))
	net := h.nets[i]
	kinds := []struct {
		name  string
		begin func()
	}{
		{"reset", net.Reset}, {"mute", net.Mute}, {"deaf", net.Deafen}, {"refused", net.Refuse},
		{"losing", func() {
			lots := rand.New(rand.NewPCG(*seed, uint64(h.lives)))
			net.Lose(func() torture.Lot { return torture.Lot(lots.IntN(12) / 10) })
		}},
	}
	k := kinds[h.random.IntN(len(kinds))]
	h.done["network "+k.name]++
	h.troubled[i] = h.troubled[i] || k.name != "reset"
	k.begin()
}

// relieve ends the troubles of all networks, and waits until all processes are open: one that
// met a trouble at its start is started again, as whoever runs it would. Both builds are there
// then: no run is left without a node that it fits.
func (h *havoc) relieve() {
	h.t.Helper()
	for i, net := range h.nets {
		net.Relieve()
		h.troubled[i] = false
		h.awaitOpen(i)
	}
	for h.builds[0] == h.builds[1] {
		i := h.random.IntN(2)
		h.kill(i)
		h.awaitOpen(i)
	}
}

func (h *havoc) awaitOpen(i int) {
	for err := <-h.opened[i]; err != nil; err = <-h.opened[i] {
		h.all[i].Kill()
		h.bear(i)
	}
}

// sum says what was on record in the end.
func (h *havoc) sum(end witness.Case) {
	h.t.Helper()
	outcomes := map[string]int{}
	for _, r := range end.Runs {
		attempts, err := h.client.Workflow(r.ID).Attempts(h.t.Context())
		if err != nil {
			h.t.Fatal(err)
		}
		for _, a := range attempts {
			outcomes[a.Outcome]++
		}
	}
	moved := h.query(`SELECT count(DISTINCT run)::text FROM perdure.turns WHERE epoch >> 32 > 0`)
	h.t.Logf("attempts by outcome: %v; %s runs went on at a node of the other build", outcomes, moved[0])
}
