package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// endsInTurns makes the code of the workflow end its process itself, in its second turn.
func (f *fatality) endsInTurns() {
	f.ends = workflow.New("ends", func(wf *workflow.Context, n int) (int, error) {
		if err := workflow.Sleep(wf, 100*time.Millisecond); err != nil {
			return 0, err
		}
		if f.deadly(n) {
			f.dying.Store(true)
			//perdure:deterministic the process dies meanwhile
			time.Sleep(time.Second)
		}
		return n, nil
	})
}

// endsInSteps makes an inline step of the workflow end its process.
func (f *fatality) endsInSteps() {
	f.ends = workflow.New("ends", func(wf *workflow.Context, n int) (int, error) {
		return workflow.Do(wf, "write", func(ctx context.Context) (int, error) {
			if f.deadly(n) {
				f.dying.Store(true)
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return n, nil
		})
	})
}

// TestE87_AWorkflowThatCrashesIsHeldAsAWhole: however many runs of a workflow end the process
// with their turns, it dies few times. Then they are parked, also those that come, and
// everything else goes on. On another build they are tried by themselves.
func TestE87_AWorkflowThatCrashesIsHeldAsAWhole(t *testing.T) {
	for _, crashing := range []int{5, 60, 200} {
		t.Run(fmt.Sprint(crashing), func(t *testing.T) {
			need := needsNothing
			if crashing == 5 {
				need = needsFencing // what is on record of it decides
			}
			need.inBothModes(t, func(t *testing.T, w *world) {
				f := newFatality(w)
				f.endsInTurns()
				e := f.start()
				for n := range crashing {
					begin(t, e, f.ends, fmt.Sprint("ends ", n), n)
					if n < 60 {
						begin(t, e, f.goes, fmt.Sprint("goes ", n), n)
					}
				}
				e = f.live(e, 12)
				t.Logf("%d deaths", f.exits)
				for n := range crashing {
					if n >= 60 {
					} else if d := describe(t, e, fmt.Sprint("goes ", n)); d.Status != view.StatusCompleted {
						t.Fatalf("a bystander is %s after %d deaths: %+v", d.Status, f.exits, d.Pending)
					}
					if d := describe(t, e, fmt.Sprint("ends ", n)); d.Status != view.StatusParked {
						t.Fatalf("run %d is %s after %d deaths", n, d.Status, f.exits)
					}
				}
				w.kill(e)
				e = f.live(f.start(), f.exits) // the hold is durable
				begin(t, e, f.ends, "late", 7)
				e = f.live(e, f.exits) // and for those that come
				same(t, "a late run", describe(t, e, "late").Status, view.StatusParked)
				stop(t, e)
				f.build, f.deadly = "two", func(int) bool { return false }
				e = f.start()
				for n := range crashing {
					if got, err := finish[int](t, e, fmt.Sprint("ends ", n)); got != n || err != nil {
						t.Errorf("on another build, run %d: %d, %v", n, got, err)
					}
				}
			})
		})
	}
}

// TestE87_APersonLetsAHeldWorkflowGo with one of its runs. It is held again only if it crashes
// again.
func TestE87_APersonLetsAHeldWorkflowGo(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		f := newFatality(w)
		f.endsInTurns()
		e := f.start()
		for n := range 20 {
			begin(t, e, f.ends, fmt.Sprint(n), n)
		}
		e = f.live(e, 12)
		was := f.exits
		resume := func(request string) {
			control(t, e, "7", core.Control{ID: request, Operation: core.ResumeTheRun, By: "ann"})
		}
		resume("first")
		if e = f.live(e, was+12); f.exits == was {
			t.Error("after the resumption it is not tried")
		}
		if d := describe(t, e, "3"); d.Status != view.StatusParked {
			t.Errorf("it crashes still, and is %s", d.Status)
		}
		f.deadly = func(int) bool { return false } // what it lacked is there again
		resume("second")
		for n := range 20 {
			if got, err := finish[int](t, e, fmt.Sprint(n)); got != n || err != nil {
				t.Errorf("run %d: %d, %v", n, got, err)
			}
		}
	})
}

// TestE87_OneRunThatCrashesHoldsNoOtherOfItsWorkflow: if others of the workflow survive, the
// run alone is parked.
func TestE87_OneRunThatCrashesHoldsNoOtherOfItsWorkflow(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		f := newFatality(w)
		f.endsInTurns()
		f.deadly = func(n int) bool { return n == 23 }
		e := f.start()
		for n := range 60 {
			begin(t, e, f.ends, fmt.Sprint(n), n)
		}
		e = f.live(e, 12)
		for n := range 60 {
			if n == 23 {
				same(t, "the culprit", describe(t, e, "23").Status, view.StatusParked)
			} else if got, err := finish[int](t, e, fmt.Sprint(n)); got != n || err != nil {
				t.Errorf("run %d: %d, %v", n, got, err)
			}
		}
	})
}

// TestE3_AStepThatCrashesIsHeldAsAWhole: an inline step is held as an activity is, under the
// name of its workflow and its own.
func TestE3_AStepThatCrashesIsHeldAsAWhole(t *testing.T) {
	needsFencing.inBothModes(t, func(t *testing.T, w *world) {
		crashing := 60
		if w.in.onDisk {
			crashing = 5
		}
		f := newFatality(w)
		f.endsInSteps()
		e := f.start()
		for n := range crashing {
			begin(t, e, f.ends, fmt.Sprint("ends ", n), n)
			begin(t, e, f.goes, fmt.Sprint("goes ", n), n)
		}
		e = f.live(e, 12)
		t.Logf("%d deaths", f.exits)
		for n := range crashing {
			if d := describe(t, e, fmt.Sprint("goes ", n)); d.Status != view.StatusCompleted {
				t.Fatalf("a bystander is %s after %d deaths: %+v", d.Status, f.exits, d.Pending)
			}
			if c := onlyCall(t, e, fmt.Sprint("ends ", n)); c.State != view.CallQueued || c.ActivityPaused == nil {
				t.Fatalf("step %d is %s, %+v", n, c.State, c.ActivityPaused)
			}
		}
		s, err := e.Status(t.Context())
		if err != nil || len(s.Waiting) != 1 || s.Waiting[0].For != view.WaitActivityPaused || s.Waiting[0].Name != "ends/write" || s.Waiting[0].Count != crashing {
			t.Errorf("the status is %+v, %v", s, err)
		}
		w.kill(e)
		f.deadly = func(int) bool { return false }
		e = f.live(f.start(), f.exits)
		if _, err := e.SwitchActivity(t.Context(), "ends/write", false, 0, "", request.By{Who: "ann"}); err != nil {
			t.Fatal(err)
		}
		for n := range crashing {
			if got, err := finish[int](t, e, fmt.Sprint("ends ", n)); got != n || err != nil {
				t.Errorf("step %d: %d, %v", n, got, err)
			}
		}
	})
}

// TestE3_AnActivityOfAQueueIsHeldAsAWhole: workers die of its calls, and are replaced. Then
// workers of that build claim none of them, and go on with all others.
func TestE3_AnActivityOfAQueueIsHeldAsAWhole(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		const crashing = 30
		f := newFatality(w)
		w.patient = false
		onQueue := workflow.New("on a queue", func(wf *workflow.Context, n int) (int, error) {
			return workflow.Call(wf, f.poison, n, activity.Queue("q"))
		})
		fine := workflow.New("fine on a queue", func(wf *workflow.Context, n int) (int, error) {
			return workflow.Call(wf, f.fine, n, activity.Queue("q"))
		})
		e := w.owner(onQueue, fine, f.poison, f.fine)
		serve := func() *engine.Engine {
			c := w.config(f.poison, f.fine)
			c.Node, c.Supersede, c.Build = "worker", false, f.build
			c.Queues, c.Lease, c.Concurrency = []servedQueue{{Name: "q", Limit: 10}}, 9*time.Second, 16
			return w.startWith(c)
		}
		for n := range crashing {
			begin(t, e, onQueue, fmt.Sprint("ends ", n), n)
			begin(t, e, fine, fmt.Sprint("goes ", n), n)
		}
		worker := serve()
		for quiet := time.Duration(0); quiet < time.Minute; quiet += 10 * time.Millisecond {
			if pass(10 * time.Millisecond); f.dying.Load() {
				w.kill(worker)
				f.exits++
				f.dying.Store(false)
				if f.exits > 12 {
					t.Fatalf("%d workers have died", f.exits)
				}
				pass(12 * time.Second) // of its supervisor
				worker, quiet = serve(), 0
			}
		}
		t.Logf("%d deaths", f.exits)
		for n := range crashing {
			if got, err := finish[int](t, e, fmt.Sprint("goes ", n)); got != n || err != nil {
				t.Errorf("a bystander: %d, %v", got, err)
			}
			if c := onlyCall(t, e, fmt.Sprint("ends ", n)); c.State != view.CallOffered || c.ActivityPaused == nil {
				t.Fatalf("call %d is %s, %+v", n, c.State, c.ActivityPaused)
			}
		}
		f.deadly = func(int) bool { return false }
		if _, err := e.SwitchActivity(t.Context(), "poison", false, 0, "", request.By{Who: "ann"}); err != nil {
			t.Fatal(err)
		}
		for n := range crashing {
			if got, err := finish[int](t, e, fmt.Sprint("ends ", n)); got != n || err != nil {
				t.Errorf("call %d: %d, %v", n, got, err)
			}
		}
	})
}
