package sim

import (
	"flag"
	"os"
	"testing"
)

var (
	firstSeed = flag.Uint64("first", 1, "the first seed")
	seeds     = flag.Uint64("seeds", 200, "how many seeds")
	oneSeed   = flag.Uint64("seed", 0, "play this seed alone, and show its trace")
)

func TestWorlds(t *testing.T) {
	if *oneSeed != 0 {
		r := play(t, draw(*oneSeed, anything), os.Stdout)
		t.Logf("trace %x of %d lines; %+v", r.sum, r.lines, r.effort)
		for _, f := range r.faults {
			t.Error(f)
		}
		return
	}
	var all effort
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		r := play(t, draw(seed, anything), nil)
		for _, f := range r.faults {
			t.Errorf("seed %d: %s", seed, f)
		}
		all.Runs += r.effort.Runs
		all.Bodies += r.effort.Bodies
		all.Processes += r.effort.Processes
		all.Deaths += r.effort.Deaths
	}
	t.Logf("%+v", all)
}
