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

// brink is the database of an owner, which calls before and after once around the first
// commit of a turn that gives an attempt up of which nothing was heard.
type brink struct {
	store.Opener
	before, after func()
	met           atomic.Bool
}

func (m *brink) Open(ctx context.Context) (store.Store, error) {
	s, err := m.Opener.Open(ctx)
	return onBrink{s, m}, err
}

type onBrink struct {
	store.Store
	of *brink
}

func (m onBrink) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	here := false
	for i := range turns {
		here = here || len(turns[i].GivenUp) > 0 && m.of.met.CompareAndSwap(false, true)
	}
	if here && m.of.before != nil {
		m.of.before()
	}
	result, err := m.Store.Commit(ctx, turns)
	if here && m.of.after != nil {
		m.of.after()
	}
	return result, err
}

// mute is the database of a worker, whose signs of life are lost from some time on.
type mute struct {
	store.Opener
	from    atomic.Bool
	settled chan error // what each answer was
}

func (m *mute) Open(ctx context.Context) (store.Store, error) {
	s, err := m.Opener.Open(ctx)
	return onMute{s, m}, err
}

type onMute struct {
	store.Store
	of *mute
}

func (m onMute) Attend(ctx context.Context, w store.Worker) (*store.Attendance, error) {
	if m.of.from.Load() {
		return nil, &store.UnavailableError{Op: "Attend", Err: errors.New("the line is dead")}
	}
	return m.Store.Attend(ctx, w)
}

func (m onMute) ClaimTasks(ctx context.Context, c store.TaskClaim) ([]store.Task, error) {
	if m.of.from.Load() {
		return nil, &store.UnavailableError{Op: "ClaimTasks", Err: errors.New("the line is dead")}
	}
	return m.Store.ClaimTasks(ctx, c)
}

func (m onMute) SettleTasks(ctx context.Context, worker string, settled []store.SettledTask) ([]error, error) {
	errs, err := m.Store.SettleTasks(ctx, worker, settled)
	for _, told := range errs {
		m.of.settled <- told
	}
	return errs, err
}

// TestE139_AResultWhileTheAttemptIsGivenUp: one that is in the database before the loss is
// counts, although the owner has decided already. One that comes later is refused, and the
// worker says so: the attempt is on record as lost.
func TestE139_AResultWhileTheAttemptIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		late     bool
		told     error
		attempts string
		refusals int
	}{
		"before it is durable": {false, nil, "1.1 completed succeeded", 0},
		"after it is durable":  {true, store.ErrStale, "1.1 lost lease_expired, 1.2 completed succeeded", 1},
	} {
		t.Run(name, func(t *testing.T) {
			needsTransactions.inVirtualTime(t, func(t *testing.T, w *world) {
				finished, told := make(chan struct{}), make(chan error, 9)
				var begun atomic.Int32
				work := activity.New("work", func(context.Context, int) (string, error) {
					if begun.Add(1) == 1 {
						<-finished
					}
					return "done", nil
				}, activity.Queue("gpu"), activity.Retry(retry.Policy{MaxAttempts: 1}))
				flow := calls(work)
				var first error
				end := func() {
					close(finished)
					first = <-told
				}
				plain := w.db
				at := &brink{Opener: plain}
				if c.late {
					at.after = end
				} else {
					at.before = end
				}
				w.db = at
				e := w.owner(flow)
				line := &mute{Opener: plain, settled: told}
				w.db = line
				w.worker("first", "gpu", 1, work)
				begin(t, e, flow, "run", 1)
				pass(time.Second)
				line.from.Store(true)
				w.db = plain
				w.worker("second", "gpu", 1, work)
				if got, err := finish[string](t, e, "run"); got != "done" || err != nil {
					t.Errorf("%q, %v", got, err)
				}
				settle()
				if !at.met.Load() {
					t.Fatal("no attempt was given up")
				}
				if !errors.Is(first, c.told) {
					t.Errorf("the worker was told %v", first)
				}
				if got := outcomes(t, e, "run"); got != c.attempts {
					t.Errorf("the attempts are %s", got)
				}
				if n := w.log.count("a result came too late and was discarded"); n != c.refusals {
					t.Errorf("%d results were refused", n)
				}
				if n := w.inInbox(); n != 0 {
					t.Errorf("%d messages are left", n)
				}
			})
		})
	}
}
