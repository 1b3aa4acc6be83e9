package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
)

// TestE106_Probes: an outage of the database is a reason to send requests elsewhere,
// and none to restart the process; draining likewise; a call without code is neither.
func TestE106_Probes(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		missing := activity.Declare[int, int]("missing")
		slow := activity.New("slow", func(ctx context.Context, n int) (int, error) {
			return n, busy(ctx, 10*time.Second)
		})
		lacking, work := calls(missing), calls(slow)
		e := w.start(lacking, work, slow)
		expect := func(when string, live, ready, healthy func(error) bool) {
			t.Helper()
			for name, probe := range map[string]struct {
				err  error
				fits func(error) bool
			}{"Live": {e.Live(), live}, "Ready": {e.Ready(), ready}, "Health": {e.Health(), healthy}} {
				if !probe.fits(probe.err) {
					t.Errorf("%s %s returns %v", when, name, probe.err)
				}
			}
		}
		fine := func(err error) bool { return err == nil }
		bad := func(err error) bool { return err != nil }
		stopped := func(err error) bool { return errors.Is(err, request.ErrStopped) }

		expect("after the start", fine, fine, fine)
		begin(t, e, lacking, "lacking", 1)
		settle()
		expect("with a call that has no code", fine, fine, bad)
		begin(t, e, work, "work", 1)
		settle()
		w.plans[e].Outage(true)
		pass(time.Minute)
		expect("in an outage", fine, store.Unavailable, store.Unavailable)
		w.plans[e].Outage(false)
		pass(time.Minute)
		expect("after the outage", fine, fine, bad)
		begin(t, e, work, "again", 1)
		settle()
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := e.Stop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}()
		settle()
		expect("while it drains", fine, bad, bad)
		<-done
		expect("after the stop", stopped, stopped, stopped)
	})
}
