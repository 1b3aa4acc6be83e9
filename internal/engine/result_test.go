package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// demandEnd demands that a run ends within a day: waiting for one that never does
// would take for ever, virtual time or not.
func demandEnd(t *testing.T, e *engine.Engine, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	defer cancel()
	if _, _, err := e.Result(ctx, id, ""); err != nil {
		d := describe(t, e, id)
		t.Fatalf("a day later the run is %s (%s), %+v is open", d.Status, d.Reason, d.Pending)
	}
}

// TestE4_ResultInTheMailSurvivesAPanic: the code panics over a result that is not
// durable yet. The result is kept, the call is not taken for one that was lost
// with its process: it does not run again, nor is it quarantined.
func TestE4_ResultInTheMailSurvivesAPanic(t *testing.T) {
	for _, limit := range []int{0, 1} {
		t.Run(fmt.Sprint("CrashLimit ", limit), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				ran := 0
				pay := activity.New("pay", func(_ context.Context, n int) (int, error) { ran++; return n + 1, nil },
					activity.Retry(retry.Policy{CrashLimit: limit}))
				order := func(version string, panics bool) workflow.Workflow[int, int] {
					return workflow.New("order", func(wf *workflow.Context, n int) (int, error) {
						n, err := workflow.Call(wf, pay, n)
						if panics {
							panic("bug")
						}
						return n, err
					}, workflow.Version(version))
				}
				e := w.start(order("1", true), pay)
				begin(t, e, order("1", true), "order", 1)
				pass(time.Hour)
				if d := describe(t, e, "order"); d.Status != "parked" || len(d.Pending) != 0 || ran != 1 {
					t.Errorf("the run is %s, %+v is open, the activity ran %d times", d.Status, d.Pending, ran)
				}
				stop(t, e)
				e = w.start(order("2", false), pay)
				demandEnd(t, e, "order")
				if got, err := finish[int](t, e, "order"); got != 2 || err != nil || ran != 1 {
					t.Errorf("with sound code: %d, %v; the activity ran %d times", got, err, ran)
				}
				if got := outcomes(t, e, "order"); got != "1.1 completed succeeded" {
					t.Errorf("the attempts are %s", got)
				}
			})
		})
	}
}

// slowLoads is a database that takes its time to load a run.
type slowLoads struct {
	store.Opener
	delay time.Duration
}

func (s slowLoads) Open(ctx context.Context) (store.Store, error) {
	inner, err := s.Opener.Open(ctx)
	return slowLoading{inner, s.delay}, err
}

type slowLoading struct {
	store.Store
	delay time.Duration
}

func (s slowLoading) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	time.Sleep(s.delay)
	return s.Store.Load(ctx, partition, run)
}

// TestE4_AResultBesideAPanicIsKept: when the code panics over one result, another
// one came together with it or while the code ran; or it comes while the run is
// loaded anew without its code, or after that.
func TestE4_AResultBesideAPanicIsKept(t *testing.T) {
	for name, second := range map[string]time.Duration{
		"together": time.Second, "during the turn": 1500 * time.Millisecond,
		"during the reload": 2500 * time.Millisecond, "afterwards": time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				w.db = slowLoads{w.db, time.Second}
				work := activity.New("work", func(ctx context.Context, d time.Duration) (string, error) {
					return d.String(), busy(ctx, d)
				}, activity.Retry(retry.Policy{CrashLimit: 1}))
				order := func(version string, panics bool) workflow.Workflow[int, string] {
					return workflow.New("order", func(wf *workflow.Context, _ int) (string, error) {
						one := workflow.Async(wf, work, time.Second)
						two := workflow.Async(wf, work, second)
						workflow.WaitAny(wf, one, two)
						if panics {
							time.Sleep(time.Second) //perdure:deterministic it stands for work of the code
							panic("bug")
						}
						a, _ := one.Get(wf)
						b, err := two.Get(wf)
						return a + " " + b, err
					}, workflow.Version(version))
				}
				e := w.start(order("1", true), work)
				begin(t, e, order("1", true), "order", 0)
				pass(time.Hour)
				if d := describe(t, e, "order"); d.Status != "parked" || len(d.Pending) != 0 {
					t.Errorf("the run is %s, %+v is open", d.Status, d.Pending)
				}
				stop(t, e)
				e = w.start(order("2", false), work)
				demandEnd(t, e, "order")
				if got, err := finish[string](t, e, "order"); got != "1s "+second.String() || err != nil {
					t.Errorf("with sound code: %q, %v", got, err)
				}
				if got := outcomes(t, e, "order"); got != "1.1 completed succeeded, 2.1 completed succeeded" {
					t.Errorf("the attempts are %s", got)
				}
			})
		})
	}
}

// TestE64_ResultOutlivesAnOutage: the database does not answer when it is asked whether a run
// has ended. No notification follows any more, so the engine has to ask again.
func TestE64_ResultOutlivesAnOutage(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		order := workflow.New("order", func(*workflow.Context, int) (int, error) { return 7, nil })
		e := w.start(order)
		run := begin(t, e, order, "order", 1)
		settle()
		for _, id := range []string{run, ""} { // the run, or the latest one
			w.plans[e].Outage(true)
			told := make(chan error, 1)
			go func() {
				_, s, err := e.Result(t.Context(), "order", id)
				if err == nil && s.Status != core.StatusCompleted {
					err = fmt.Errorf("the run is %s", s.Status)
				}
				told <- err
			}()
			pass(time.Second)
			w.plans[e].Outage(false)
			pass(time.Second)
			select {
			case err := <-told:
				if err != nil {
					t.Errorf("run %q: %v", id, err)
				}
			default:
				t.Errorf("run %q ended long ago, and who asked in an outage still waits", id)
			}
		}
	})
}
