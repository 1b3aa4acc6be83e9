package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/perdure/perdure/perduretest"
)

// doubles is how many pairs of crashes each shape gets in each setting.
const doubles = 40 // those on a database are played at night

// TestTwoCrashesInARow lets the process die at a write, and again at a write of
// the life that follows. Which ones the seed decides. One case alone:
//
//	go test -run 'TestTwoCrashesInARow/^queue$/^memory-evicted$/^seed=7$' ./internal/engine
func TestTwoCrashesInARow(t *testing.T) {
	chosen := map[string]bool{"step-transactions": true, "queue": true, "retry-in-the-engine": true, "signals": true}
	for _, s := range shapes {
		if !chosen[s.name] {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := calm(t, s)
			for _, in := range everywhere {
				t.Run(in.name, func(t *testing.T) {
					for seed := range in.tries(doubles) {
						t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { crashTwice(t, s, in, seed, want) })
					}
				})
			}
		})
	}
}

func crashTwice(t *testing.T, s shape, in setting, seed uint64, want account) {
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func() perduretest.Fault {
		return []perduretest.Fault{perduretest.CrashBefore, perduretest.CrashAfter}[r.IntN(2)]
	}
	first := 1 + r.IntN(want.writes*2/3) // turns may merge, so that there are fewer
	second := first + 1 + r.IntN(want.writes)
	stage := newStage(t, in, s)
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.At(first, pick())
		env.At(second, pick())
		judge(t, stage.play(t, env, s), want, stage.book, time.Millisecond)
		if env.Crashes() == 0 {
			t.Errorf("The process did not die at write %d.", first)
		}
	}, stage.options...)
}
