package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/view"
)

// TestE62_SweepUnderFaults: whichever write of a sweep fails, loses its answer, or is
// the last before or after which the process dies: each run is there whole or not at all,
// and the next sweep leaves what one without faults leaves.
func TestE62_SweepUnderFaults(t *testing.T) {
	for _, in := range everywhere {
		if !in.resident || !in.plays(needsQueries) { // a sweep reads no run into memory
			continue
		}
		in.run(t, 1, func(t *testing.T, w *world) {
			w.patient = true
			want, writes := sweepUnderFault(t, w, 0, faulty.Fault{})
			same(t, "left", want.ids, "[old-open open]")
			if writes < 4 {
				t.Fatalf("a sweep makes only %d writes", writes)
			}
			for i, fault := range []faulty.Fault{faulty.FailBefore, faulty.FailAfter, faulty.CrashBefore, faulty.CrashAfter} {
				first, step := 1, 1
				if in.onDisk && !extent.Nightly() { // where two of them strike each write
					first, step = 1+i%2, 2
				}
				for k := first; k <= writes; k += step {
					w.anew()
					got, _ := sweepUnderFault(t, w, k, fault)
					if fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("write %d %s: got %+v, want %+v", k, fault, got, want)
					}
				}
			}
		})
	}
}

// swept is what a sweep leaves.
type swept struct {
	ids      []string
	switches int
	counted  int64 // calls in the counters
	freed    bool  // whether a workflow ID that was removed can be used anew
	open     string
}

// sweepUnderFault makes a little of everything and sweeps, with a fault at one of the
// writes of the sweep, and then once more.
func sweepUnderFault(t *testing.T, w *world, k int, fault faulty.Fault) (got swept, writes int) {
	t.Helper()
	f := newFragile(slowRetry)
	f.broken.Store(false)
	definitions := []any{weighed, collector.Impl(collect), f.flow, f.activity}
	e := w.start(definitions...)
	complete(t, e, f.flow, "called", 0)
	begin(t, e, weighed, "light", 1)
	begin(t, e, weighed, "failed", -1)
	for _, id := range []string{"old-open", "ended"} { // chains of two
		begin(t, e, collector, id, collected{Each: 1, All: 2})
		signal(t, e, id, "number", "", 1)
		settle()
	}
	signal(t, e, "ended", "number", "", 2)
	for i, off := range []bool{true, false} {
		if _, err := e.SwitchActivity(t.Context(), "fragile", off, 0, fmt.Sprint("s", i), request.By{Who: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	pass(48 * time.Hour)
	begin(t, e, collector, "open", collected{Each: 1, All: 1})
	settle()
	events := map[string]int{} // of each run
	eachRun(t, e, func(r view.Run, n int) { events[r.RunID] = n })
	day := 24 * time.Hour
	keep := view.Retention{Completed: day, Failed: day, Continued: day, Statistics: day, Switches: day}
	if countedCalls(t, e) == 0 {
		t.Fatal("no call is counted")
	}
	plan := w.plans[e]
	before := plan.Writes()
	if k > 0 {
		plan.At(before+k, fault)
	}
	_, err := e.Sweep(t.Context(), keep, false)
	writes = plan.Writes() - before
	if k > 0 && err == nil {
		t.Errorf("the sweep did not notice that its write %d %s", k, fault)
	}
	select {
	case <-plan.Crashed():
		w.kill(e)
		e = w.start(definitions...)
	default:
	}
	eachRun(t, e, func(r view.Run, n int) {
		if n != events[r.RunID] {
			t.Errorf("write %d %s: of run %s (%s) %d events are left of %d", k, fault, r.RunID, r.WorkflowID, n, events[r.RunID])
		}
	})
	if _, err := e.Sweep(t.Context(), keep, false); err != nil {
		t.Fatal(err)
	}
	got.ids = idsOf(t, e)
	log, err := e.Switches(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	got.switches = len(log)
	got.counted = countedCalls(t, e)
	_, attached, err := tryBegin(t.Context(), e, weighed, "light", 7)
	got.freed = err == nil && !attached
	signal(t, e, "old-open", "number", "", 2)
	_, err = finish[[]int](t, e, "old-open")
	got.open = fmt.Sprint(err)
	stop(t, e)
	return got, writes
}

// countedCalls is how many calls the counters have.
func countedCalls(t *testing.T, e *engine.Engine) (calls int64) {
	t.Helper()
	stats, err := e.ActivityStats(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stats {
		calls += s.Calls
	}
	return calls
}

// eachRun calls do with each run and how many events it has on record.
func eachRun(t *testing.T, e *engine.Engine, do func(r view.Run, events int)) {
	t.Helper()
	runs, err := e.List(t.Context(), view.Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		_, events, err := historyOf(t, e, r.WorkflowID, r.RunID)
		if err != nil {
			t.Fatal(err)
		}
		do(r, len(events))
	}
}
