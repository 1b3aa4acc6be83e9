package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// fatality is a process whose activity ends it, and its neighbours.
type fatality struct {
	w       *world
	poison  activity.Activity[int, int] // ends the process for the inputs that are deadly
	fine    activity.Activity[int, int]
	ends    workflow.Workflow[int, int] // calls poison
	goes    workflow.Workflow[int, int] // calls fine ten times
	build   string
	deadly  func(n int) bool
	dying   atomic.Bool
	repeats atomic.Int64 // executions of fine beyond the first of a call
	exits   int
	slots   int
}

func newFatality(w *world) *fatality {
	f := &fatality{w: w, build: "one", deadly: func(int) bool { return true }}
	f.poison = activity.New("poison", func(ctx context.Context, n int) (int, error) {
		if f.deadly(n) {
			f.dying.Store(true)
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return n, busy(ctx, 5*time.Millisecond)
	})
	f.fine = activity.New("fine", func(ctx context.Context, n int) (int, error) {
		if info, _ := activity.FromContext(ctx); info.Attempt > 1 {
			f.repeats.Add(1)
		}
		return n, busy(ctx, 20*time.Millisecond)
	})
	f.ends = calls(f.poison)
	f.goes = workflow.New("goes", func(wf *workflow.Context, n int) (int, error) {
		for range 10 {
			if _, err := workflow.Call(wf, f.fine, n); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	return f
}

func (f *fatality) start() *engine.Engine { return f.startWith(cmp.Or(f.slots, 16)) }

func (f *fatality) startWith(slots int) *engine.Engine {
	config := f.w.config(f.ends, f.goes, f.poison, f.fine)
	f.slots, config.Concurrency, config.Build = slots, slots, f.build
	return f.w.startWith(config)
}

// live starts the process again and again, until one lives for a while.
func (f *fatality) live(e *engine.Engine, most int) *engine.Engine {
	for quiet := time.Duration(0); quiet < 15*time.Second; {
		pass(10 * time.Millisecond)
		if quiet += 10 * time.Millisecond; !f.dying.Load() {
			continue
		}
		f.w.kill(e)
		if f.exits++; f.exits > most {
			f.w.t.Fatalf("the process has died %d times", f.exits)
		}
		pass(100 * time.Millisecond) // of its supervisor
		f.dying.Store(false)
		e, quiet = f.start(), 0
	}
	return e
}

// TestE3_AnActivityThatCrashesIsHeldAsAWhole: however many calls share an activity that ends
// the process, it dies few times. Then the activity is held on this build, durably and for
// all to see, no call of it is charged for good, and everything else goes on. On another
// build the calls are tried by themselves.
func TestE3_AnActivityThatCrashesIsHeldAsAWhole(t *testing.T) {
	for _, crashing := range []int{5, 60} {
		t.Run(fmt.Sprint(crashing), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				f := newFatality(w)
				e := f.start()
				for n := range crashing {
					begin(t, e, f.ends, fmt.Sprint("ends ", n), n)
					begin(t, e, f.goes, fmt.Sprint("goes ", n), n)
				}
				e = f.live(e, 12)
				for n := range crashing {
					if d := describe(t, e, fmt.Sprint("goes ", n)); d.Status != view.StatusCompleted {
						t.Fatalf("a bystander is %s after %d deaths: %+v", d.Status, f.exits, d.Pending)
					}
					if c := onlyCall(t, e, fmt.Sprint("ends ", n)); c.State != view.CallQueued || c.ActivityPaused == nil {
						t.Fatalf("call %d is %s, %+v", n, c.State, c.ActivityPaused)
					}
				}
				s, err := e.Status(t.Context())
				if err != nil || !s.Attention || len(s.Waiting) != 1 || s.Waiting[0].For != view.WaitActivityPaused || s.Waiting[0].Name != "poison" || s.Waiting[0].Count != crashing {
					t.Errorf("the status is %+v, %v", s, err)
				}
				w.kill(e)
				e = f.live(f.start(), f.exits) // the hold is durable
				begin(t, e, f.ends, "late", 7)
				e = f.live(e, f.exits) // and for those that come
				stop(t, e)
				f.build, f.deadly = "two", func(int) bool { return false }
				e = f.start()
				for n := range crashing {
					if got, err := finish[int](t, e, fmt.Sprint("ends ", n)); got != n || err != nil {
						t.Errorf("on another build, call %d: %d, %v", n, got, err)
					}
				}
			})
		})
	}
}

// TestE3_APersonLetsAHeldActivityGo, and it is held again only if it crashes again.
func TestE3_APersonLetsAHeldActivityGo(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		f := newFatality(w)
		e := f.start()
		for n := range 20 {
			begin(t, e, f.ends, fmt.Sprint(n), n)
		}
		e = f.live(e, 12)
		was := f.exits
		resume := func() {
			if _, err := e.SwitchActivity(t.Context(), "poison", false, 0, "", request.By{Who: "ann"}); err != nil {
				t.Fatal(err)
			}
		}
		resume()
		if e = f.live(e, was+12); f.exits == was {
			t.Error("after the resumption it is not tried")
		}
		if c := onlyCall(t, e, "7"); c.ActivityPaused == nil {
			t.Errorf("it crashes still, and is %+v", c)
		}
		f.deadly = func(int) bool { return false } // what it lacked is there again
		resume()
		for n := range 20 {
			if got, err := finish[int](t, e, fmt.Sprint(n)); got != n || err != nil {
				t.Errorf("call %d: %d, %v", n, got, err)
			}
		}
	})
}

// TestE3_OneCallThatCrashesHoldsNoOtherOfItsActivity: if others of the activity survive, the
// call alone is quarantined.
func TestE3_OneCallThatCrashesHoldsNoOtherOfItsActivity(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		f := newFatality(w)
		f.deadly = func(n int) bool { return n == 23 }
		e := f.start()
		for n := range 60 {
			begin(t, e, f.ends, fmt.Sprint(n), n)
		}
		limit := retry.Policy{}.WithDefaults().CrashLimit
		e = f.live(e, 2+6+limit)
		for n := range 60 {
			if n == 23 {
				same(t, "the culprit", onlyCall(t, e, "23").State, view.CallQuarantined)
			} else if got, err := finish[int](t, e, fmt.Sprint(n)); got != n || err != nil {
				t.Errorf("call %d: %d, %v", n, got, err)
			}
		}
	})
}

// TestE3_CallsThatCrashOneAtATime: each process dies of the first call before another one has
// begun. It costs few deaths all the same: when one call died alone, others of its activity
// are tried as if they were suspects.
func TestE3_CallsThatCrashOneAtATime(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		const crashing = 60
		f := newFatality(w)
		e := f.startWith(1)
		for n := range crashing {
			begin(t, e, f.ends, fmt.Sprint("ends ", n), n)
		}
		e = f.live(e, 12)
		t.Logf("%d deaths", f.exits)
		for n := range crashing {
			if c := onlyCall(t, e, fmt.Sprint("ends ", n)); c.State != view.CallQueued || c.ActivityPaused == nil {
				t.Fatalf("call %d is %s, %+v", n, c.State, c.ActivityPaused)
			}
		}
	})
}

// TestE3_WhatSurvivesWhileItsNodeDrains: a call that is tried alone, because its process died with
// it, survives while its node stops. That is on record, so no node has to try others of its activity.
func TestE3_WhatSurvivesWhileItsNodeDrains(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		f := newFatality(w)
		e := f.start()
		begin(t, e, f.ends, "charged", 1)
		for range 2 { // the first time others could have been to blame
			pass(time.Second)
			w.kill(e)
			e = f.start()
		}
		pass(time.Second)
		w.kill(e)
		runs, over := make(chan bool, 1), make(chan bool)
		f.deadly = func(int) bool {
			runs <- true
			<-over
			return false
		}
		e = f.start()
		<-runs
		stopped := make(chan bool)
		go func() {
			defer close(stopped)
			if err := e.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		pass(time.Second)
		close(over)
		<-stopped
		db, err := w.bare.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		log, err := db.Switches(t.Context(), "", 0)
		if err != nil || len(log) == 0 || !strings.HasPrefix(log[len(log)-1].Request, "survived") {
			t.Errorf("the log of switches is %+v, %v", log, err)
		}
	})
}
