package sim

import (
	"flag"
	"os"
	"testing"
)

var (
	firstSeed = flag.Uint64("first", 1, "the first seed")
	seeds     = flag.Uint64("seeds", 200, "how many seeds")
	oneSeed   = flag.Uint64("seed", 0, "play this seed alone, and tell what happens")
	keep      = flag.String("keep", "", "of the world of the seed, only these programs and events, such as 0,3,8")
	kindOf    = flag.String("world", anything.name, "the kind of world")
)

// TestP1_Worlds plays worlds, one a seed.
func TestP1_Worlds(t *testing.T) {
	p := profileNamed(t, *kindOf)
	if *oneSeed != 0 {
		r := play(t, draw(*oneSeed, p).keeping(t, *keep), os.Stdout)
		t.Logf("trace %x of %d lines; %+v", r.sum, r.lines, r.effort)
		for _, f := range r.faults {
			t.Error(f)
		}
		return
	}
	var all effort
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		plan := draw(seed, p)
		r := play(t, plan, nil)
		all.add(r.effort)
		if len(r.faults) > 0 {
			report(t, plan, r)
		}
	}
	t.Logf("%+v", all)
}

// TestP1_ASeedSaysEverything: the same seed gives the same trace.
func TestP1_ASeedSaysEverything(t *testing.T) {
	for seed := uint64(1); seed <= 100; seed++ {
		plan := draw(seed, anything)
		a, b := play(t, plan, nil), play(t, plan, nil)
		if a.sum != b.sum || a.lines != b.lines {
			t.Errorf("seed %d: the trace %x of %d lines is %x of %d when it is played again", seed, a.sum, a.lines, b.sum, b.lines)
		}
	}
}
