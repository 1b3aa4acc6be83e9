package attempt

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
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

// TestE24_ABeatAfterTheTimeoutCountsForNothing: the body does not heed its context and says that it
// goes on, when its silence has ended the attempt. The run hears nothing of that.
func TestE24_ABeatAfterTheTimeoutCountsForNothing(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		var late error
		body := func(ctx context.Context) (history.Payload, error) {
			for _, silence := range []time.Duration{time.Second, 4 * time.Second} {
				time.Sleep(silence)
				late = activity.Heartbeat(ctx, silence)
			}
			return history.Payload{}, nil
		}
		s.begin(dispatch.Regular, core.Dispatch{HeartbeatTimeout: 3 * time.Second}, body)
		pass(4500 * time.Millisecond)
		if got := s.ended(t).Outcome; got != core.TimedOut {
			t.Errorf("a silent attempt has %s", got)
		}
		pass(time.Minute)
		beats := s.heard().beats
		if len(beats) != 1 || beats[0].Details.String() != value(t, time.Second).String() {
			t.Errorf("heard: %+v; the late one got %v", beats, late)
		}
	})
}
