package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// plan is what there is in a world and what is done to it, drawn from a seed.
type plan struct {
	seed     uint64
	profile  *profile
	servers  int
	programs []order
	events   []event
	kept     []int // of the elements that were drawn; nil: all
}

// order is a program that a customer wants to be run.
type order struct {
	id  string
	job job
}

// event is something that is done to the world.
type event struct {
	at   time.Duration
	what happening
	dice dice
}

// happening is what can be done to a world.
type happening int

const (
	joins        happening = iota
	joinsBesides           // under the name of another one that does not know it
	dies
	leaves
	freezes
	isCutOff
	databaseAway
	storms
	deadlyStorm
	clockSteps
	clientDies
	pausesCall
	resumesCalls
	retriesNow
	editsPolicy
	switchesOff
	switchesOn
	pausesGate
	resumesGate
	pausesRun
	resumesRun
	movesRun
	resetsRun
	forksRun
	skipsCall
	failsCall
	cancelsRun
	terminatesRun
	cancelsAll
	setsSchedule
	setsCanary
	copiesAll
	happenings
)

// profile is a kind of world.
type profile struct {
	name     string
	programs int         // at most
	events   int         // at most
	only     []happening // nil: all
	of       []kind      // of statements; nil: all
	lasts    time.Duration
}

func profileNamed(t *testing.T, name string) *profile {
	at := slices.IndexFunc(profiles, func(p *profile) bool { return p.name == name })
	if at < 0 {
		var known []string
		for _, p := range profiles {
			known = append(known, p.name)
		}
		t.Fatalf("no kind of world is called %q; the kinds are %q", name, known)
	}
	return profiles[at]
}

// draw makes the plan of a seed.
func draw(seed uint64, p *profile) plan {
	d := dice(seed).of(p.name)
	out := plan{seed: seed, profile: p, servers: 1 + d.of("servers").below(3)}
	for i := range 1 + d.of("programs").below(p.programs) {
		d := d.of("program", i)
		out.programs = append(out.programs, order{id: fmt.Sprintf("p%d", i), job: job{Seed: uint64(d), Of: p.of, Pinned: d.of("pinned").oneIn(4)}})
	}
	for i := range d.of("events").below(p.events + 1) {
		d := d.of("event", i)
		ev := event{at: time.Duration(d.of("at").below(int(p.lasts))), what: happening(d.below(int(happenings))), dice: d}
		if p.only != nil {
			ev.what = p.only[d.below(len(p.only))]
		}
		out.events = append(out.events, ev)
	}
	slices.SortFunc(out.events, func(a, b event) int { return int(a.at - b.at) })
	return out
}
