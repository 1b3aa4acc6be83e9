package workflow

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/core"
)

// A scope is canceled in the order in which its calls were made, whichever of them ended
// before: a replay that canceled them in another one would not fit.
func TestScopeKeepsItsCallsInOrder(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		s, want := &scope{}, []*core.Call(nil)
		for range 2000 {
			if random.IntN(5) < 3-len(want)/200 || len(want) == 0 {
				c := &core.Call{}
				s.add(c)
				want = append(want, c)
				continue
			}
			at := random.IntN(len(want))
			s.remove(want[at])
			want = slices.Delete(want, at, at+1)
		}
		s.remove(&core.Call{})
		if !slices.Equal(s.calls, want) {
			t.Fatalf("seed %d: %d calls in another order than %d that were made", seed, len(s.calls), len(want))
		}
	}
}

// BenchmarkScopeRemove is what it costs that a fan-out's calls end about in their order.
func BenchmarkScopeRemove(b *testing.B) {
	calls := make([]*core.Call, 1000)
	for i := range calls {
		calls[i] = &core.Call{}
	}
	for b.Loop() {
		s := &scope{calls: slices.Clone(calls)}
		for i := range calls {
			s.remove(calls[i^3])
		}
	}
}
