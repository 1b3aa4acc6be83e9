package gate_test

import (
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/retry"
)

// tries is for the long form: go test ./gate -run Races -tries 10000000
var tries = flag.Int("tries", extent.Volume(20_000, 10_000_000), "how often the tests of races between grant and cancel try")

// racers runs f often, on a few goroutines, and hands it a way to have a context
// canceled by another goroutine at about the same time.
func racers(t *testing.T, f func(ctx context.Context, cancelSoon func())) {
	t.Helper()
	const workers = 8
	var left atomic.Int64
	left.Store(int64(*tries))
	var wg, cancelers sync.WaitGroup
	cancels := make(chan context.CancelFunc, workers)
	for range 2 {
		cancelers.Go(func() {
			for cancel := range cancels {
				cancel()
			}
		})
	}
	for range workers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				ctx, cancel := context.WithCancel(t.Context())
				f(ctx, func() { cancels <- cancel })
				cancel()
			}
		})
	}
	wg.Wait()
	close(cancels)
	cancelers.Wait()
}

// guard checks that no more than limit are inside.
type guard struct {
	limit  int32
	inside atomic.Int32
}

func (g *guard) visit(t *testing.T) {
	if n := g.inside.Add(1); n > g.limit {
		t.Errorf("%d are inside, the limit is %d", n, g.limit)
	}
	g.inside.Add(-1)
}

// TestR40_GrantAndCancelRaces: each try has one outcome, a slot or an error, and
// no slot is lost or made.
func TestR40_GrantAndCancelRaces(t *testing.T) {
	g, in := gate.New("races", 2), &guard{limit: 2}
	var got, lost atomic.Int64
	racers(t, func(ctx context.Context, cancelSoon func()) {
		cancelSoon()
		release, err := g.Acquire(ctx)
		if (release == nil) == (err == nil) {
			t.Errorf("a slot: %v, an error: %v", release != nil, err)
		}
		if err != nil {
			lost.Add(1)
			return
		}
		got.Add(1)
		in.visit(t)
		if err := release(); err != nil {
			t.Error(err)
		}
	})
	if n := got.Load() + lost.Load(); n != int64(*tries) || got.Load() == 0 || lost.Load() == 0 {
		t.Errorf("%d tries of %d ended: %d with a slot, %d without", n, *tries, got.Load(), lost.Load())
	}
	deserted(t, g)
}

// TestR42_RacesWithRetries: the same through two gates, with failures, backoff of
// no length, and a mode each.
func TestR42_RacesWithRetries(t *testing.T) {
	a, b := gate.New("a", 3, gate.WithMode(gate.Rejoin)), gate.New("b", 2)
	in := &guard{limit: 2}
	policy := retry.Policy{MaxAttempts: 3, Backoff: retry.None}
	var ends sync.Map
	racers(t, func(ctx context.Context, cancelSoon func()) {
		if rand.IntN(2) == 0 {
			cancelSoon()
		}
		err := retry.Do(ctx, policy, func(context.Context) error {
			in.visit(t)
			if rand.IntN(2) == 0 {
				return io.EOF
			}
			return nil
		}, gate.ThroughAt(rand.IntN(2), b, a))
		ends.Store(kind(err), true)
	})
	for _, want := range []string{"success", "canceled", "exhausted"} {
		if _, ok := ends.Load(want); !ok {
			t.Errorf("no call ended in %s: the test shows less than it should", want)
		}
	}
	deserted(t, a, b)
}
