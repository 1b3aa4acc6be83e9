package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/store"
)

// TestE67_ChaosBesideRetention: whatever happens to nodes and database that remove runs
// soon after they have ended, whoever waits in a process that lives learns the outcome or
// that the run was removed, and nobody waits for ever. Where the last run of each chain is
// kept, whoever waits for the chain learns its outcome.
func TestE67_ChaosBesideRetention(t *testing.T) {
	for seed := range chaosSeeds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			inAGroupOf(t, []int{1, 5, 16}[seed%3], func(t *testing.T, w *world) { waitInChaos(t, w, seed) })
		})
	}
}

func waitInChaos(t *testing.T, w *world, seed uint64) {
	if testing.Short() && seed > 1 {
		t.Skip("Here some of the seeds are enough.")
	}
	c := &chaos{
		world: w, random: rand.New(rand.NewPCG(seed, 5)), definitions: []any{relay.Impl(hop)}, names: map[*engine.Engine]string{}, forgetful: true,
		keepsLast: seed%2 == 1,
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, line := range c.log {
				t.Log(line)
			}
		}
	})
	c.join()
	c.join()
	client := w.open(w.config())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	var results, gone atomic.Int64
	const chains = 20
	for i := range chains {
		id, left := fmt.Sprint("chain ", i), 20+i*20
		begin(t, client, relay, id, hops{Left: left})
		all.Go(func() {
			_, s, err := client.Result(ctx, id, "")
			d, bad := core.DecodeDetail(s.Detail)
			switch {
			case err == nil && bad == nil && s.Status == core.StatusCompleted && d.Result.String() == fmt.Sprint(left):
				results.Add(1)
			case errors.Is(err, store.ErrNotFound) && ctx.Err() == nil:
				gone.Add(1)
			default:
				t.Errorf("%s: %s, %v", id, s.Status, err)
			}
		})
	}
	for range 25 {
		pass(time.Duration(c.random.IntN(4000)) * time.Millisecond)
		c.happen()
	}
	c.stops.Wait()
	for _, e := range w.engines() {
		w.plans[e].Outage(false)
	}
	all.Wait()
	t.Logf("%d results, %d were removed before the waiter looked", results.Load(), gone.Load())
	if c.keepsLast {
		same(t, "chains without a result", gone.Load(), 0)
	}
	pass(2 * time.Minute)
	same(t, "things awaited", client.Waiting(), 0)
	for _, e := range w.engines() { // a fault may be left for the way they leave
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := e.Stop(ctx); err != nil {
			t.Logf("stop: %v", err)
		}
	}
}
