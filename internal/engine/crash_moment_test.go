package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/perduretest"
)

// moments is at how many moments each shape is struck in each setting.
const moments = 12 // those on a database are played at night

// TestCrashAtAnyMoment lets the process die between writes: while bodies run,
// backoffs and timers tick, or nothing happens at all. When, the seed decides,
// early moments more often than late ones; and nobody serves the database for a
// while then. One case alone:
//
//	go test -run 'TestCrashAtAnyMoment/^timers$/^memory-evicted$/^seed=7$' ./internal/engine
func TestCrashAtAnyMoment(t *testing.T) {
	for _, s := range shapes {
		if testing.Short() && !slices.Contains(onDisk, s.name) {
			continue // the others write in no other way
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := calm(t, s)
			for _, in := range everywhere {
				t.Run(in.name, func(t *testing.T) {
					for seed := range in.tries(moments) {
						t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { crashOnce(t, s, in, seed, want) })
					}
				})
			}
		})
	}
}

func crashOnce(t *testing.T, s shape, in setting, seed uint64, want account) {
	r := rand.New(rand.NewPCG(seed, 1))
	u := r.Float64()
	when := time.Duration(u * u * u * float64(want.took))
	downtime := time.Duration(r.Int64N(int64(20 * time.Second)))
	stage := newStage(t, in, s)
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		go func() {
			time.Sleep(when)
			env.Crash()
		}()
		got := stage.play(t, env, s)
		judge(t, got, want, stage.book, downtime+time.Millisecond)
		if got.crashes != 1 {
			t.Errorf("%d crashes, want one after %s.", got.crashes, when)
		}
	}, append(stage.options, perduretest.Downtime(downtime))...)
}
