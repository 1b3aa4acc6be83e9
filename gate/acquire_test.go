package gate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
)

// TestR46_AcquiredWorkIsNoProbe: the gate does not learn how it ends, so it holds up no
// half-open breaker, however long it takes; alone it passes, one at a time.
func TestR46_AcquiredWorkIsNoProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("bank", 5, gate.WithBreaker(gate.Breaker{Failures: 1, Cooldown: time.Minute, Wait: true}))
		call := func(fails error) error {
			return retry.Do(t.Context(), retry.Never, func(context.Context) error { return fails }, gate.Through(g))
		}
		_ = call(errors.New("down"))
		began := time.Now()
		release, err := g.Acquire(t.Context())
		if err != nil || time.Since(began) != time.Minute {
			t.Fatalf("acquired after %s, %v", time.Since(began), err)
		}
		second := make(chan func() error)
		go func() {
			release, _ := g.Acquire(t.Context())
			second <- release
		}()
		synctest.Wait()
		select {
		case <-second:
			t.Error("two that tell nothing pass a half-open breaker")
		default:
		}
		if err := call(nil); err != nil || time.Since(began) != time.Minute {
			t.Errorf("an attempt beside it ended after %s with %v", time.Since(began), err)
		}
		for _, release := range []func() error{release, <-second} { // the breaker is closed
			if err := release(); err != nil {
				t.Error(err)
			}
		}
	})
}
