package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/store"
)

// TestE60_FromAnyNode: whoever is asked, the owner does it, once, and the answer
// comes back; also to a process that only is a client.
func TestE60_FromAnyNode(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		f := newFragile(slowRetry)
		start := func(name string) *engine.Engine {
			config := w.config(f.flow, f.activity)
			config.Node = name
			return w.startWith(config)
		}
		a, b := start("a"), start("b")
		client := w.open(w.config())
		pass(time.Minute)
		const runs = 12
		for n := range runs {
			begin(t, a, f.flow, fmt.Sprint(n), n)
		}
		pass(time.Minute)
		f.broken.Store(false)
		for n := range runs {
			asked := []*engine.Engine{a, b, client}[n%3]
			records := control(t, asked, fmt.Sprint(n), core.Control{ID: "once", Operation: core.RetryNow, By: "ann"})
			same(t, "outcomes", verdicts(records), "[retry-now applied]")
			other := []*engine.Engine{b, client, a}[n%3]
			if out, err := finish[string](t, other, fmt.Sprint(n)); out != "done" || err != nil {
				t.Errorf("%d: %q, %v", n, out, err)
			}
			again, err := other.Control(t.Context(), fmt.Sprint(n), "", core.Control{ID: "once", Operation: core.RetryNow})
			if err != nil || fmt.Sprint(again) != fmt.Sprint(records) {
				t.Errorf("%d: the same request elsewhere: %+v, %v", n, again, err)
			}
		}
		same(t, "ran", f.ran.Load(), 2*runs)
	})
}

// TestE60_TheOwnerDies: if an owner dies, the next owner carries out its requests once, and
// the callers get their replies.
func TestE60_TheOwnerDies(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		f := newFragile(slowRetry)
		start := func(name string) *engine.Engine {
			config := w.config(f.flow, f.activity)
			config.Node, config.Lease = name, 10*time.Second
			return w.startWith(config)
		}
		a := start("a")
		const runs = 8
		for n := range runs {
			begin(t, a, f.flow, fmt.Sprint(n), n)
		}
		pass(time.Minute)
		f.broken.Store(false)
		w.kill(a)
		client := w.open(w.config())
		answers := make(chan error, runs)
		for n := range runs {
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				defer cancel()
				records, err := client.Control(ctx, fmt.Sprint(n), "", core.Control{ID: "once", Operation: core.RetryNow})
				if err == nil && (len(records) != 1 || records[0].Outcome != core.Applied) {
					err = fmt.Errorf("%d: %+v", n, records)
				}
				answers <- err
			}()
		}
		pass(time.Second)
		b := start("b")
		for range runs {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		for n := range runs {
			if out, err := finish[string](t, b, fmt.Sprint(n)); out != "done" || err != nil {
				t.Errorf("%d: %q, %v", n, out, err)
			}
		}
		same(t, "ran", f.ran.Load(), 2*runs)
		if _, err := client.Control(t.Context(), "0", "", core.Control{Operation: core.PauseCall}); !errors.Is(err, store.ErrClosed) {
			t.Errorf("an ended run: %v", err)
		}
	})
}
