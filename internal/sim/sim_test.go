package sim

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/perdure/perdure/internal/extent"
)

var (
	firstSeed = flag.Uint64("first", 1, "the first seed")
	seeds     = flag.Uint64("seeds", 0, "how many seeds; 0: as many as this form of the tests plays")
	oneSeed   = flag.Uint64("seed", 0, "play this seed alone, and tell what happens")
	keep      = flag.String("keep", "", "of the world of the seed, only these programs and events, such as 0,3,8")
	kindOf    = flag.String("world", anything.name, "the kind of world")
)

// extentOf is how many seeds this form of the tests plays.
func extentOf(short, push, night uint64) uint64 {
	switch {
	case *seeds > 0:
		return *seeds
	case testing.Short():
		return short
	}
	return extent.AtNight(push, night)
}

// TestI6_P1_Worlds plays worlds in which anything happens, one a seed. Whatever happens, in the end
// all is as if nothing had happened, and everything is on record.
func TestI6_P1_Worlds(t *testing.T) {
	p := profileNamed(t, *kindOf)
	if *oneSeed == 0 {
		playSeeds(t, p, extentOf(300, 4000, 50_000))
		return
	}
	r := play(t, draw(*oneSeed, p).keeping(t, *keep), os.Stdout)
	t.Logf("trace %x of %d lines; %+v", r.sum, r.lines, r.effort)
	for _, f := range r.faults {
		t.Error(f)
	}
}

// TestP6_WorldsOfOthers plays what other engines suffered from.
func TestP6_WorldsOfOthers(t *testing.T) {
	for _, p := range profiles[1:] {
		t.Run(p.name, func(t *testing.T) { playSeeds(t, p, extentOf(20, 80, 4000)) })
	}
}

func playSeeds(t *testing.T, p *profile, n uint64) {
	var all effort
	failed := 0
	for seed := *firstSeed; seed < *firstSeed+n && failed < 5; seed++ {
		plan := draw(seed, p)
		r := play(t, plan, nil)
		all.add(r.effort)
		if len(r.faults) > 0 {
			failed++
			report(t, plan, r)
		}
	}
	t.Logf("%d worlds: %+v", n, all)
}

// TestP1_ASeedSaysEverything: the same seed gives the same trace. What the Go runtime decides by
// itself (which of the goroutines that wake at one moment goes first) shows in about one seed in
// twenty: whether two turns are committed together or one after the other. Then one of the next
// plays gives the trace again.
func TestP1_ASeedSaysEverything(t *testing.T) {
	for seed := uint64(1); seed <= 40; seed++ {
		plan := draw(seed, anything)
		first, again := play(t, plan, nil), result{}
		for plays := 0; again.sum != first.sum || again.lines != first.lines; plays++ {
			if plays == 30 {
				t.Errorf("seed %d: the trace %x of %d lines did not come again", seed, first.sum, first.lines)
				break
			}
			again = play(t, plan, nil)
		}
	}
}

// TestMain lets one goroutine run at a time: that makes more worlds in less time, and fewer ways
// in which one moment can go.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400) // worlds make much garbage and keep nothing
	os.Exit(m.Run())
}
