package gate_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
)

// TestR30_AllocationsThroughAGate: a success costs the call's place, its ticket
// and the context of its attempt.
func TestR30_AllocationsThroughAGate(t *testing.T) {
	through := gate.Through(gate.New("api", 10))
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() {
		if err := retry.Do(ctx, retry.Policy{}, succeed, through); err != nil {
			t.Error(err)
		}
	}); n > 3 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkThrough(b *testing.B) {
	one, two := gate.New("one", 10), gate.New("two", 10)
	for _, bm := range []struct {
		name  string
		gates []*gate.Gate
	}{{"one gate", []*gate.Gate{one}}, {"two gates", []*gate.Gate{one, two}}} {
		b.Run(bm.name, func(b *testing.B) {
			through := gate.Through(bm.gates...)
			b.ReportAllocs()
			for b.Loop() {
				_ = retry.Do(context.Background(), retry.Policy{}, succeed, through)
			}
		})
	}
}

func BenchmarkAcquire(b *testing.B) {
	free, narrow := gate.New("free", 10), gate.New("narrow", 1)
	visit := func(g *gate.Gate) {
		if release, err := g.Acquire(context.Background()); err == nil {
			_ = release()
		}
	}
	b.Run("free", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			visit(free)
		}
	})
	b.Run("contended", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				visit(narrow)
			}
		})
	})
}
