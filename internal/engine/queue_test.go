package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/engine"
	rows "github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/serve"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// servedQueue is a queue that a process serves.
type servedQueue = rows.Queue

// worker starts a process that serves a queue alone, as perdure.ServeQueue tells it.
func (w *world) worker(name, queue string, limit int, definitions ...any) *engine.Engine {
	w.t.Helper()
	c := w.config(definitions...)
	c.Node, c.Supersede = name, false
	c.Queues = []servedQueue{{Name: queue, Limit: limit}}
	c.Lease = 9 * time.Second
	return w.startWith(c)
}

// owner starts a process that has runs and serves no queue.
func (w *world) owner(definitions ...any) *engine.Engine {
	w.t.Helper()
	c := w.config(definitions...)
	c.Lease = 9 * time.Second
	return w.startWith(c)
}

// rendering is an activity of the queue "gpu", and what is known of its attempts.
type rendering struct {
	activity activity.Activity[int, string]
	flow     workflow.Workflow[int, string]
	mu       sync.Mutex
	runs     int
	most     int // at a time
	now      int
	causes   []error
	took     time.Duration
	deaf     bool // it does not heed its context
}

func newRendering(took time.Duration, opts ...activity.Option) *rendering {
	x := &rendering{took: took}
	x.activity = activity.New("render", x.render, append([]activity.Option{activity.Queue("gpu")}, opts...)...)
	x.flow = calls(x.activity)
	return x
}

func (x *rendering) render(ctx context.Context, n int) (string, error) {
	x.mu.Lock()
	x.runs++
	x.now++
	x.most = max(x.most, x.now)
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.now--
	}()
	var err error
	if x.deaf {
		time.Sleep(x.took)
	} else {
		err = busy(ctx, x.took)
	}
	if ctx.Err() != nil {
		x.mu.Lock()
		x.causes = append(x.causes, context.Cause(ctx))
		x.mu.Unlock()
	}
	return fmt.Sprint("picture ", n), err
}

// TestE82_OnlyWhoServesTheQueueRunsIt: with its own limit; the owner of the run, which has
// the code, does not.
func TestE82_OnlyWhoServesTheQueueRunsIt(t *testing.T) {
	needsTransactions.inVirtualTime(t, func(t *testing.T, w *world) {
		x := newRendering(time.Second)
		e := w.owner(x.flow, x.activity)
		const runs = 10
		for i := range runs {
			begin(t, e, x.flow, fmt.Sprint(i), i)
		}
		pass(time.Minute)
		if x.runs != 0 {
			t.Fatalf("%d attempts ran, and nobody serves the queue", x.runs)
		}
		if p := onlyCall(t, e, "3"); p.State != "offered" || p.Queue != "gpu" || p.Attempt != 1 {
			t.Errorf("the call is %+v", p)
		}
		w.worker("a", "mail", 9, x.activity)
		other := activity.New("other", func(context.Context, int) (int, error) { return 0, nil })
		w.worker("b", "gpu", 9, other)
		pass(time.Minute)
		if x.runs != 0 {
			t.Fatalf("%d attempts ran where the queue or the code is another", x.runs)
		}
		w.worker("c", "gpu", 3, x.activity)
		for i := range runs {
			if got, err := finish[string](t, e, fmt.Sprint(i)); got != fmt.Sprint("picture ", i) || err != nil {
				t.Errorf("run %d: %q, %v", i, got, err)
			}
		}
		if x.runs != runs || x.most != 3 {
			t.Errorf("%d attempts ran, %d at a time; want %d and 3", x.runs, x.most, runs)
		}
		if got := attemptsOf(t, e, "7"); len(got) != 1 || !strings.HasPrefix(got[0].Node, "c/") || got[0].Outcome != "completed" {
			t.Errorf("the attempts are %+v", got)
		}
	})
}

// TestE82_ANodeMayServeQueuesToo: beside its runs.
func TestE82_ANodeMayServeQueuesToo(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		x := newRendering(time.Second)
		c := w.config(x.flow, x.activity)
		c.Queues = []servedQueue{{Name: "gpu", Limit: 2}}
		e := w.startWith(c)
		for i := range 5 {
			begin(t, e, x.flow, fmt.Sprint(i), i)
		}
		for i := range 5 {
			if got, err := finish[string](t, e, fmt.Sprint(i)); got != fmt.Sprint("picture ", i) || err != nil {
				t.Errorf("run %d: %q, %v", i, got, err)
			}
		}
		if x.runs != 5 || x.most != 2 {
			t.Errorf("%d attempts ran, %d at a time", x.runs, x.most)
		}
	})
}

// TestE82_FailuresAreRetriedByTheOwner: by the policy, with the details of heartbeats.
func TestE82_FailuresAreRetriedByTheOwner(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		var told []int
		work := activity.New("work", func(ctx context.Context, n int) (string, error) {
			said, _, _ := activity.Details[int](ctx)
			told = append(told, said)
			if err := activity.Heartbeat(ctx, said+n); err != nil {
				return "", err
			}
			if len(told) < 3 {
				return "", errRefused
			}
			return activity.IdempotencyKey(ctx), nil
		}, activity.Queue("gpu"), activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}))
		flow := calls(work)
		e := w.owner(flow)
		w.worker("c", "gpu", 3, work)
		begin(t, e, flow, "run", 7)
		if got, err := finish[string](t, e, "run"); got == "" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if fmt.Sprint(told) != "[0 7 14]" {
			t.Errorf("the attempts were told %v", told)
		}
		if got := outcomes(t, e, "run"); got != "1.1 failed backoff crash_test.refused, 1.2 failed backoff crash_test.refused, 1.3 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestE82_WaitingTooLongIsAQueueTimeout: and the body never runs for it.
func TestE82_WaitingTooLongIsAQueueTimeout(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		x := newRendering(time.Second, activity.Retry(retry.Policy{MaxAttempts: 2, QueueTimeout: time.Minute, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}))
		e := w.owner(x.flow)
		begin(t, e, x.flow, "run", 1)
		_, err := finish[string](t, e, "run")
		var timeout *retry.TimeoutError
		if !errors.As(err, &timeout) || timeout.Kind != retry.TimeoutQueue {
			t.Errorf("got %v", err)
		}
		w.worker("c", "gpu", 1, x.activity)
		pass(time.Minute)
		if x.runs != 0 {
			t.Errorf("%d attempts ran", x.runs)
		}
	})
}

// TestE121_TheOwnerGivesUpAndTheLateResultIsDropped: when an attempt times out, its worker
// hears of it, and what its body returns counts for nothing.
func TestE121_TheOwnerGivesUpAndTheLateResultIsDropped(t *testing.T) {
	needsTransactions.inVirtualTime(t, func(t *testing.T, w *world) {
		x := newRendering(10*time.Minute, activity.Retry(retry.Policy{MaxAttempts: 2, AttemptTimeout: time.Minute, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}))
		x.deaf = true
		e := w.owner(x.flow)
		w.worker("c", "gpu", 3, x.activity)
		begin(t, e, x.flow, "run", 1)
		_, err := finish[string](t, e, "run")
		var timeout *retry.TimeoutError
		if !errors.As(err, &timeout) || timeout.Kind != retry.TimeoutAttempt {
			t.Errorf("got %v", err)
		}
		pass(20 * time.Minute)
		if len(x.causes) != 2 || x.runs != 2 {
			t.Errorf("%d attempts ran, canceled because of %v", x.runs, x.causes)
		}
		if got := attemptsOf(t, e, "run"); len(got) != 2 || got[0].Outcome != "timed-out" || got[1].Outcome != "timed-out" {
			t.Errorf("the attempts are %+v", got)
		}
	})
}

// TestE121_CancellationReachesTheBody: of a call, whose end is waited for, and of a run
// that is terminated.
func TestE121_CancellationReachesTheBody(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		x := newRendering(time.Hour)
		e := w.owner(x.flow)
		w.worker("c", "gpu", 3, x.activity)
		run := begin(t, e, x.flow, "canceled", 1)
		begin(t, e, x.flow, "terminated", 1)
		pass(time.Second)
		if err := e.Cancel(t.Context(), "canceled", run, request.By{Why: "enough"}); err != nil {
			t.Fatal(err)
		}
		if err := e.Terminate(t.Context(), "terminated", "", request.By{Why: "enough"}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		var aborted *retry.AbortedError
		if _, err := finish[string](t, e, "canceled"); !errors.As(err, &aborted) {
			t.Errorf("got %v", err)
		}
		if len(x.causes) != 2 {
			t.Fatalf("the bodies were canceled because of %v", x.causes)
		}
		gone, asked := 0, 0
		for _, cause := range x.causes {
			var c *workflow.CancelError
			switch {
			case errors.Is(cause, serve.ErrGivenUp):
				gone++
			case errors.As(cause, &c):
				asked++
			}
		}
		if gone != 1 || asked != 1 {
			t.Errorf("the bodies were canceled because of %v", x.causes)
		}
	})
}

// TestE122_AWorkerThatDiesLosesItsAttempts: when its lease is over. That is no failure of
// the call, and another worker runs it.
func TestE122_AWorkerThatDiesLosesItsAttempts(t *testing.T) {
	needsFencing.inVirtualTime(t, func(t *testing.T, w *world) {
		x := newRendering(time.Hour, activity.Retry(retry.Policy{MaxAttempts: 1}))
		e := w.owner(x.flow)
		first := w.worker("first", "gpu", 3, x.activity)
		begin(t, e, x.flow, "run", 1)
		pass(time.Second)
		first.Kill()
		pass(8 * time.Second)
		if p := onlyCall(t, e, "run"); p.State != "running" || p.Attempt != 1 || !strings.HasPrefix(p.Node, "first/") {
			t.Errorf("before its lease is over the call is %+v", p)
		}
		pass(time.Minute)
		if p := onlyCall(t, e, "run"); p.State != "offered" || p.Attempt != 2 {
			t.Errorf("the call is %+v", p)
		}
		x.took = time.Second
		w.worker("second", "gpu", 3, x.activity)
		if got, err := finish[string](t, e, "run"); got != "picture 1" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if got := outcomes(t, e, "run"); got != "1.1 lost lease_expired, 1.2 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestE122_AWorkerThatStopsGivesBack: what runs may end; what does not is not charged.
func TestE122_AWorkerThatStopsGivesBack(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		x := newRendering(time.Minute, activity.Retry(retry.Policy{MaxAttempts: 1}))
		e := w.owner(x.flow)
		first := w.worker("first", "gpu", 3, x.activity)
		begin(t, e, x.flow, "ends", 1)
		pass(30 * time.Second)
		begin(t, e, x.flow, "does not", 2)
		pass(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
		defer cancel()
		begin(t, e, x.flow, "comes late", 3)
		if err := first.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		settle()
		if got := outcomes(t, e, "ends"); got != "1.1 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
		w.worker("second", "gpu", 3, x.activity)
		for _, id := range []string{"does not", "comes late"} {
			if _, err := finish[string](t, e, id); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
		if got := outcomes(t, e, "does not"); got != "1.1 drained drained, 1.2 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestE122_AWorkerThatStopsBeforeTheTime: a retry is offered shortly before its backoff is
// over, and begins when it is. The worker that has it then and stops gives it back.
func TestE122_AWorkerThatStopsBeforeTheTime(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		var began []time.Time
		var failed time.Time
		work := activity.New("work", func(context.Context, int) (int, error) {
			if began = append(began, time.Now()); len(began) == 1 {
				failed = time.Now()
				return 0, errRefused
			}
			return 7, nil
		}, activity.Queue("gpu"), activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}))
		flow := calls(work)
		e := w.owner(flow)
		first := w.worker("first", "gpu", 3, work)
		begin(t, e, flow, "run", 1)
		pass(time.Second)
		pass(time.Until(failed.Add(time.Minute - 5*time.Millisecond)))
		if len(began) != 1 {
			t.Fatalf("before its time %d bodies began", len(began))
		}
		stop(t, first) // what it gives back, it had
		w.worker("second", "gpu", 3, work)
		if got, err := finish[int](t, e, "run"); got != 7 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		if len(began) != 2 || began[1].Sub(failed) < time.Minute {
			t.Errorf("after %s the bodies began at %v", failed, began)
		}
		if got := outcomes(t, e, "run"); got != "1.1 failed backoff crash_test.refused, 1.2 drained drained, 1.3 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestE82_GatesAreAskedByTheOwner: before it offers an attempt.
func TestE82_GatesAreAskedByTheOwner(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		x := newRendering(time.Second, activity.Through(gate.New("licence", 2)))
		e := w.owner(x.flow)
		w.worker("c", "gpu", 9, x.activity)
		for i := range 6 {
			begin(t, e, x.flow, fmt.Sprint(i), i)
		}
		for i := range 6 {
			if _, err := finish[string](t, e, fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		}
		if x.most != 2 || x.runs != 6 {
			t.Errorf("%d attempts ran, %d at a time", x.runs, x.most)
		}
	})
}

// TestE82_WhatAWorkerCannotDoIsRefused: a hook in the transaction of the owner, and a step
// with a queue.
func TestE82_WhatAWorkerCannotDoIsRefused(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			return n, activity.OnCommit(ctx, func(context.Context, any) error { return nil })
		}, activity.Queue("gpu"))
		flow := calls(work)
		step := workflow.New("step", func(wf *workflow.Context, n int) (int, error) {
			return workflow.Do(wf, "step", func(context.Context) (int, error) { return n, nil }, activity.Queue("gpu"))
		})
		e := w.owner(flow, step)
		w.worker("c", "gpu", 9, work)
		begin(t, e, flow, "hook", 1)
		if _, err := finish[int](t, e, "hook"); err == nil || !strings.Contains(err.Error(), "activity.OnCommit") {
			t.Errorf("got %v", err)
		}
		begin(t, e, step, "step", 1)
		if _, err := finish[int](t, e, "step"); err == nil || !strings.Contains(err.Error(), "has a queue") {
			t.Errorf("got %v", err)
		}
	})
}

// TestE123_RoutingIsVisible: views show which worker serves which queue, and what waits where
// and why.
func TestE123_RoutingIsVisible(t *testing.T) {
	needsQueries.inVirtualTime(t, func(t *testing.T, w *world) {
		x := newRendering(time.Hour)
		e := w.owner(x.flow)
		begin(t, e, x.flow, "run", 1)
		pass(time.Minute)
		why := func(want string) {
			t.Helper()
			if got, err := e.Why(t.Context(), "run", ""); err != nil || !strings.Contains(got, want) {
				t.Errorf("the reason is %q, %v; want %q", got, err, want)
			}
		}
		why("call 1 (render) waits in the queue gpu: no process serves queue gpu")
		p := onlyCall(t, e, "run")
		if p.Unserved != "no process serves queue gpu" || p.Offered == nil || !p.Offered.Equal(p.Scheduled) {
			t.Errorf("the call is %+v", p)
		}
		s, err := e.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Waiting) != 1 || s.Waiting[0].For != "unserved" || s.Waiting[0].Queue != "gpu" || !s.Attention {
			t.Errorf("the status is %+v", s.Waiting)
		}
		if len(s.Queues) != 1 || s.Queues[0].Waiting != 1 || s.Queues[0].Workers != 0 || fmt.Sprint(s.Queues[0].Unserved) != "[render]" {
			t.Errorf("the queues are %+v", s.Queues)
		}
		other := activity.New("other", func(context.Context, int) (int, error) { return 0, nil })
		w.worker("b", "gpu", 2, other)
		why("no process that serves queue gpu has activity render")
		w.worker("c", "gpu", 3, x.activity)
		pass(time.Minute)
		why("call 1 (render) runs")
		if s, err = e.Status(t.Context()); err != nil || s.Attention || !s.Served {
			t.Errorf("the status is %+v, %v", s, err)
		}
		if q := s.Queues[0]; len(s.Queues) != 1 || q.Waiting != 0 || q.Running != 1 || q.Workers != 2 || q.Limit != 5 || len(q.Unserved) != 0 {
			t.Errorf("the queues are %+v", s.Queues)
		}
		nodes, err := e.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, n := range nodes {
			text = append(text, fmt.Sprint(n.Name, " ", n.State, " ", n.Worker, " ", n.Queues, " ", n.Attempts))
		}
		if got := strings.Join(text, "; "); got != "node live false [] 0; b live true [{gpu 2}] 0; c live true [{gpu 3}] 1" {
			t.Errorf("the nodes are %s", got)
		}
	})
}

// TestE82_WhoCannotReadAnAttemptLeavesIt: a worker without the key gives
// attempts back for nothing, does not ask for them again immediately, and says so. (One without
// the codec is refused: E138.)
func TestE82_WhoCannotReadAnAttemptLeavesIt(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		x := newRendering(time.Second, activity.Retry(retry.Policy{MaxAttempts: 1}))
		clear := w.db
		defer func() { w.db = clear }()
		w.db = codec.Over(clear, secrets(t, "a", "b"))
		e := w.owner(x.flow)
		begin(t, e, x.flow, "run", 1)
		w.db = codec.Over(clear, secrets(t, "b"))
		other := w.worker("other", "gpu", 2, x.activity)
		pass(10 * time.Second)
		if err := other.Health(); err == nil || !strings.Contains(err.Error(), `activity "render" could not be read`) {
			t.Errorf("got %v", err)
		}
		w.db = codec.Over(clear, secrets(t, "a"))
		w.worker("able", "gpu", 2, x.activity)
		if got, err := finish[string](t, e, "run"); got != "picture 1" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if got := outcomes(t, e, "run"); got != "1.1 drained drained, 1.2 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}
