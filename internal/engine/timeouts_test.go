package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// TestE25_TimeoutsRestartPerAttempt: each attempt has the whole of its timeouts,
// here and on the node that comes after a crash; the time of Within goes on.
func TestE25_TimeoutsRestartPerAttempt(t *testing.T) {
	stuck := func(ctx context.Context, _ int) (string, error) {
		time.Sleep(time.Hour) // whatever it is told
		return "late", nil
	}
	beats := func(ctx context.Context, _ int) (string, error) {
		time.Sleep(4 * time.Second)
		_ = activity.Heartbeat(ctx, 1)
		return stuck(ctx, 0)
	}
	pends := func(context.Context, int) (string, error) { return "", activity.ErrPending }
	policy := func(set func(*retry.Policy)) retry.Policy {
		p := retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(20 * time.Second), Jitter: retry.NoJitter}
		set(&p)
		return p
	}
	attempt := policy(func(p *retry.Policy) { p.AttemptTimeout = 10 * time.Second })
	silence := policy(func(p *retry.Policy) { p.HeartbeatTimeout = 5 * time.Second })
	queue := policy(func(p *retry.Policy) { p.QueueTimeout = 10 * time.Second })
	for _, test := range []struct {
		name   string
		policy retry.Policy
		body   activity.Func[int, string]
		full   bool // no slot is free
		took   time.Duration
		want   string
	}{
		{"AttemptTimeout", attempt, stuck, false, 70 * time.Second, retry.TypeTimeout},
		{"AttemptTimeout, outside", attempt, pends, false, 70 * time.Second, retry.TypeTimeout},
		{"HeartbeatTimeout", silence, stuck, false, 55 * time.Second, retry.TypeHeartbeatTimeout},
		{"HeartbeatTimeout after a heartbeat", silence, beats, false, 67 * time.Second, retry.TypeHeartbeatTimeout},
		{"HeartbeatTimeout, outside", silence, pends, false, 55 * time.Second, retry.TypeHeartbeatTimeout},
		{"the shorter one", policy(func(p *retry.Policy) { p.HeartbeatTimeout, p.AttemptTimeout = 10*time.Second, 12*time.Second }), beats, false, 76 * time.Second, retry.TypeTimeout},
		{"QueueTimeout", queue, stuck, true, 70 * time.Second, retry.TypeQueueTimeout},
		// The third would start after 60 s.
		{"Within", policy(func(p *retry.Policy) { p.AttemptTimeout, p.Within = 10*time.Second, 59*time.Second }), stuck, false, 40 * time.Second, retry.TypeTimeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				work := activity.New("work", test.body, activity.Retry(test.policy))
				flow := calls(work)
				blocker := activity.New("blocker", func(ctx context.Context, _ int) (string, error) { return "", busy(ctx, time.Hour) })
				blocked := calls(blocker)
				c := w.config(flow, work, blocked, blocker)
				if test.full {
					c.Concurrency = 1
				}
				e := w.startWith(c)
				if test.full {
					begin(t, e, blocked, "blocker", 0)
					settle()
				}
				began := time.Now()
				begin(t, e, flow, "run", 0)
				if test.full {
					inLine()
					began = onlyCall(t, e, "run").Scheduled
				}
				_, err := finish[string](t, e, "run")
				var timeout *retry.TimeoutError
				if !errors.As(err, &timeout) || timeout.Kind.TypeName() != test.want {
					t.Errorf("got %v, want the timeout %s", err, test.want)
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("it took %s, want %s", took, test.took)
				}
				pass(2 * time.Hour)
				if err := e.Health(); err != nil {
					t.Errorf("when all bodies returned Health says %v", err)
				}
			})
		})
	}
}

// TestE25_TimeoutsAfterATakeover: an attempt that another node runs again has the
// whole of its time.
func TestE25_TimeoutsAfterATakeover(t *testing.T) {
	for name, p := range map[string]retry.Policy{
		"attempt":   {AttemptTimeout: 20 * time.Second, OnTimeout: retry.StopOnTimeout},
		"heartbeat": {HeartbeatTimeout: 20 * time.Second, OnTimeout: retry.StopOnTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			needsClocks.inBothModes(t, func(t *testing.T, w *world) {
				work := activity.New("work", func(ctx context.Context, _ int) (string, error) { return untilCanceled(ctx, "") }, activity.Retry(p))
				flow := calls(work)
				a := w.start(flow, work)
				begin(t, a, flow, "run", 0)
				pass(15 * time.Second)
				w.kill(a)
				b := w.start(flow, work)
				began := time.Now()
				var timeout *retry.TimeoutError
				if _, err := finish[string](t, b, "run"); !errors.As(err, &timeout) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(began); took != 20*time.Second {
					t.Errorf("it took %s, want 20s", took)
				}
			})
		})
	}
}

// TestE25_LateBodiesAreCounted: the bodies that ignore their time-outs, for whatever
// reason it is over, are counted until they return; above the limit their slots are
// not given to others.
func TestE25_LateBodiesAreCounted(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, n int) (string, error) {
			time.Sleep(time.Hour)
			return "late", nil
		}, activity.Retry(retry.Policy{HeartbeatTimeout: time.Second, MaxAttempts: 1}))
		all := workflow.New("all", func(wf *workflow.Context, n int) (int, error) {
			for i := range n {
				workflow.Async(wf, work, i)
			}
			return n, workflow.Sleep(wf, time.Minute)
		})
		c := w.config(all, work)
		c.Concurrency = 2
		e := w.startWith(c)
		if got := complete(t, e, all, "run", 4); got != 4 {
			t.Error(got)
		}
		if err := e.Health(); err == nil || fmt.Sprint(err) != "3 activities ignore their timeout and keep running; further ones keep their slots until they return" && fmt.Sprint(err) != "4 activities ignore their timeout and keep running; further ones keep their slots until they return" {
			t.Errorf("Health says %v", err)
		}
		pass(2 * time.Hour)
		if holds := engine.Holds(e); holds != "" || e.Health() != nil {
			t.Errorf("the engine holds %s, and Health says %v", holds, e.Health())
		}
	})
}
