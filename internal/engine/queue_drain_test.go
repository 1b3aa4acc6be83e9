package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// slowClaims is a database whose answers to claims take their time.
type slowClaims struct {
	store.Opener
	by time.Duration
}

func (o slowClaims) Open(ctx context.Context) (store.Store, error) {
	s, err := o.Opener.Open(ctx)
	return slowlyClaimed{s, o.by}, err
}

type slowlyClaimed struct {
	store.Store
	by time.Duration
}

func (s slowlyClaimed) ClaimTasks(ctx context.Context, claim store.TaskClaim) ([]store.Task, error) {
	claimed, err := s.Store.ClaimTasks(ctx, claim)
	if len(claimed) > 0 {
		time.Sleep(s.by)
	}
	return claimed, err
}

// TestE122_AWorkerThatStopsWhileItClaims: it gives back what it is told that it has, without
// running it.
func TestE122_AWorkerThatStopsWhileItClaims(t *testing.T) {
	for name, by := range map[string]time.Duration{"soon": 500 * time.Millisecond, "late": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, w *world) {
				x := newRendering(time.Second, activity.Retry(retry.Policy{MaxAttempts: 1}))
				e := w.owner(x.flow)
				plain := w.db
				w.db = slowClaims{plain, by}
				first := w.worker("first", "gpu", 3, x.activity)
				w.db = plain
				begin(t, e, x.flow, "run", 1)
				pass(100 * time.Millisecond)
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				if err := first.Stop(ctx); err != nil {
					t.Fatal(err)
				}
				settle()
				if x.runs != 0 {
					t.Errorf("%d bodies ran although the worker was stopping, because of %v", x.runs, x.causes)
				}
				w.worker("second", "gpu", 3, x.activity)
				if _, err := finish[string](t, e, "run"); err != nil {
					t.Error(err)
				}
				if got := outcomes(t, e, "run"); got != "1.1 drained drained, 1.2 completed succeeded" {
					t.Errorf("the attempts are %s", got)
				}
			})
		})
	}
}

// unattended is a database that does not take a sign of life, once.
type unattended struct {
	store.Opener
	asked *atomic.Bool
}

func (o unattended) Open(ctx context.Context) (store.Store, error) {
	s, err := o.Opener.Open(ctx)
	return attendsLater{s, o.asked}, err
}

type attendsLater struct {
	store.Store
	asked *atomic.Bool
}

func (s attendsLater) Attend(ctx context.Context, w store.Worker) (*store.Attendance, error) {
	if !s.asked.Swap(true) {
		return nil, &store.UnavailableError{Op: "Attend", Err: errRefused}
	}
	return s.Store.Attend(ctx, w)
}

// TestE82_AStartThatFailsIsNone: a node that cannot say that it serves a queue has not
// started, and may be started again.
func TestE82_AStartThatFailsIsNone(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		x := newRendering(time.Second)
		w.db = unattended{w.db, new(atomic.Bool)}
		c := w.config(x.flow, x.activity)
		c.Queues = []servedQueue{{Name: "gpu", Limit: 2}}
		e := w.open(c)
		if err := e.Start(t.Context()); !errors.Is(err, errRefused) {
			t.Fatalf("got %v", err)
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		begin(t, e, x.flow, "run", 1)
		if got, err := finish[string](t, e, "run"); got != "picture 1" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}
