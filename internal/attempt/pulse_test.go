package attempt

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/history"
)

// TestE24_AHeartbeatCostsItsEncoding: one that is not written allocates nothing
// else.
func TestE24_AHeartbeatCostsItsEncoding(t *testing.T) {
	x := &Attempt{}
	x.pulse.limit, x.pulse.last = time.Hour, time.Now()
	x.pulse.fresh = true // one before waits to be written
	x.life.Context = context.Background()
	ctx := x.context(context.Background(), activity.Info{})
	details := struct{ Row, Of int }{1000, 5000}
	// The garbage collector empties the encoder's pools at any moment, which costs
	// allocations of its own: the least of several measurements counts.
	encoding := leastAllocs(func() {
		if _, err := history.Encode(details); err != nil {
			t.Fatal(err)
		}
	})
	beat := leastAllocs(func() {
		if err := activity.Heartbeat(ctx, details); err != nil {
			t.Fatal(err)
		}
	})
	if beat > encoding {
		t.Errorf("a heartbeat makes %g allocations, encoding its details %g", beat, encoding)
	}
	if x.pulse.details.String() != `{"Row":1000,"Of":5000}` {
		t.Errorf("what was said last is %s", x.pulse.details)
	}
}

func leastAllocs(f func()) float64 {
	least := testing.AllocsPerRun(50, f)
	for range 9 {
		least = min(least, testing.AllocsPerRun(50, f))
	}
	return least
}

// TestE24_HowOftenTheRunIsTold: a third of the timeout, within limits.
func TestE24_HowOftenTheRunIsTold(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{
		0: 10 * time.Second, time.Millisecond: 100 * time.Millisecond, 600 * time.Millisecond: 200 * time.Millisecond,
		15 * time.Second: 5 * time.Second, time.Hour: 10 * time.Second,
	} {
		if got := (&pulse{limit: limit}).interval(); got != want {
			t.Errorf("with a timeout of %s it is told each %s, want %s", limit, got, want)
		}
	}
}
