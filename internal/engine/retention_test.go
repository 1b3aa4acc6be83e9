package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// idsOf are the workflow IDs of all runs, sorted.
func idsOf(t *testing.T, e *engine.Engine) (ids []string) {
	t.Helper()
	runs, err := e.List(t.Context(), view.Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		ids = append(ids, r.WorkflowID)
	}
	slices.Sort(ids)
	return ids
}

// TestE62_KeptForEver: without a retention the engine says that it keeps much, once a day
// at most and only while that grows.
func TestE62_KeptForEver(t *testing.T) {
	extent.NotInShort(t, "large numbers are for the long form")
	inVirtualTime(t, func(t *testing.T, w *world) {
		config := w.config(weighed, collector.Impl(collect))
		config.MaxKept = 3
		if none := engine.Owned(w.open(config)); none == nil || len(none) > 0 {
			t.Errorf("an engine without partitions looks after %v, where nil means all", none)
		}
		e := w.startWith(config)
		said := func(when string, want int) {
			t.Helper()
			pass(25 * time.Hour)
			if n := w.log.count("closed runs are kept forever"); n != want {
				t.Errorf("%s it was said %d times, want %d", when, n, want)
			}
		}
		for i := range 2 {
			begin(t, e, weighed, fmt.Sprint(i), 1)
		}
		begin(t, e, collector, "open", collected{Each: 1, All: 1})
		said("with two closed runs", 0)
		begin(t, e, weighed, "third", 1)
		said("with three", 1)
		said("a day later", 1)
		begin(t, e, weighed, "fourth", 1)
		said("with four", 2)
	})
}

// TestE62_Retention: the engine deletes runs that ended long ago, by status, and nothing else.
// Deleted runs are gone from all views, and their IDs can be used again.
func TestE62_Retention(t *testing.T) {
	extent.NotInShort(t, "many days")
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		config := w.config(weighed, collector.Impl(collect))
		config.Retention = view.Retention{Completed: 24 * time.Hour, Failed: 72 * time.Hour}
		config.SweepEvery = time.Hour
		e := w.startWith(config)
		for i, n := range []int{1, -1, 2} {
			begin(t, e, weighed, []string{"light", "failed", "late"}[i], n)
			settle()
			if i == 1 {
				begin(t, e, collector, "open", collected{Each: 1, All: 1})
				begin(t, e, collector, "gone", collected{Each: 1, All: 1})
				control(t, e, "gone", core.Control{Operation: core.TerminateTheRun})
				pass(20 * time.Hour)
			}
		}
		pass(6 * time.Hour) // "light" ended 26 hours ago, "late" 6
		same(t, "after a day", idsOf(t, e), "[failed gone late open]")
		if _, err := e.Describe(t.Context(), "light", ""); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("described: %v", err)
		}
		if _, attached, err := tryBegin(t.Context(), e, weighed, "light", 7); err != nil || attached {
			t.Errorf("the ID is not free: %t, %v", attached, err)
		}
		pass(70 * time.Hour)
		same(t, "after four days", idsOf(t, e), "[gone open]")
		signal(t, e, "open", "number", "", 1)
		if out, err := finish[[]int](t, e, "open"); err != nil || len(out) != 1 {
			t.Errorf("the open one: %v, %v", out, err)
		}
	})
}

// TestE62_WhoIsDeployedOftenDeletes: no process lives as long as the time between two sweeps.
func TestE62_WhoIsDeployedOftenDeletes(t *testing.T) {
	extent.NotInShort(t, "many days")
	inVirtualTime(t, func(t *testing.T, w *world) {
		config := w.config(weighed)
		config.Retention = view.Retention{Completed: 24 * time.Hour}
		e := w.startWith(config)
		begin(t, e, weighed, "light", 1)
		pass(9 * time.Minute)
		if swept := e.Gauges().Swept; swept == 0 {
			t.Error("nothing says that there was a sweep")
		}
		for range 24 * 60 / 9 {
			stop(t, e)
			e = w.startWith(config)
			pass(9 * time.Minute)
		}
		same(t, "after a day", idsOf(t, e), "[]")
	})
}

// TestE62_Chains: a chain is kept as long as its last run, and goes with it; earlier
// runs of an open one go only if that is said.
func TestE62_Chains(t *testing.T) {
	extent.NotInShort(t, "many days")
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		e := w.start(collector.Impl(collect), weighed)
		for _, id := range []string{"open", "ended"} {
			begin(t, e, collector, id, collected{Each: 1, All: 3})
			for n := range 2 {
				signal(t, e, id, "number", "", n)
				pass(time.Hour)
			}
		}
		signal(t, e, "ended", "number", "", 2)
		pass(48 * time.Hour)
		day := view.Retention{Completed: 24 * time.Hour}
		same(t, "nothing is old enough", sweep(t, e, view.Retention{Completed: 100 * time.Hour, Continued: 100 * time.Hour}, false), "0 map[]")
		same(t, "dry", sweep(t, e, day, true), "3 map[completed:1 continued:2]")
		same(t, "a dry run removes nothing", len(idsOf(t, e)), 6)
		same(t, "swept", sweep(t, e, day, false), "3 map[completed:1 continued:2]")
		same(t, "swept again", sweep(t, e, day, false), "0 map[]")
		same(t, "left", idsOf(t, e), "[open open open]")
		same(t, "of the open chain", sweep(t, e, view.Retention{Continued: 24 * time.Hour}, false), "2 map[continued:2]")
		d := describe(t, e, "open")
		if len(d.Chain) != 1 || d.Chain[0].Number != 3 {
			t.Errorf("the chain is %+v", d.Chain)
		}
		// What its first run was started with is known although that is gone.
		if run, attached, err := tryBegin(t.Context(), e, collector, "open", collected{Each: 1, All: 3}); err != nil || !attached || run != d.RunID {
			t.Errorf("run %s, attached %t: %v", run, attached, err)
		}
		for _, other := range []error{
			startError(tryBegin(t.Context(), e, collector, "open", collected{Each: 1, All: 4})),
			startError(tryBegin(t.Context(), e, weighed, "open", 1)),
		} {
			if used := (*request.IDInUseError)(nil); !errors.As(other, &used) {
				t.Errorf("attached to a chain that was started with something else: %v", other)
			}
		}
		signal(t, e, "open", "number", "", 2)
		if out, err := finish[[]int](t, e, "open"); err != nil || len(out) != 3 {
			t.Errorf("the open one: %v, %v", out, err)
		}
	})
}

// sweep removes what is not kept, or counts it.
func sweep(t *testing.T, e *engine.Engine, keep view.Retention, dry bool) string {
	t.Helper()
	r, err := e.Sweep(t.Context(), keep, dry)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(r.Runs, r.Status)
}

// TestE62_ChainsThatWereReset: a run that ended and was then reset is kept as long as the
// run that follows it, which shows the attempts that it kept of it, however the two ended and
// also when their ID was used again.
func TestE62_ChainsThatWereReset(t *testing.T) {
	extent.NotInShort(t, "many days")
	inBothModes(t, func(t *testing.T, w *world) {
		f := newTried()
		tries := f.threeTries()
		e := w.start(tries, f.activity)
		ids := []string{"x", "xx", "y"}
		for _, id := range ids {
			begin(t, e, tries, id, "a")
			signal(t, e, id, "number", "", 7)
		}
		settle()
		f.setBroken("4", true)
		for _, id := range ids {
			reset(t, e, id, core.Control{ID: "r", Call: 4})
		}
		settle()
		same(t, "the last run", describe(t, e, "x").Status, "failed")
		input, err := history.Encode("b")
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := e.StartRun(t.Context(), request.Start{WorkflowID: "y", Type: tries.Name(), Input: input, NewAfter: request.AnyEnd})
		if err != nil {
			t.Fatal(err)
		}
		f.setBroken("4", false)
		signal(t, e, "y", "number", "", 8)
		settle()
		same(t, "the run that used the ID again", describe(t, e, "y").Status, "completed")
		pass(48 * time.Hour)
		completed, both := view.Retention{Completed: 24 * time.Hour}, view.Retention{Completed: 24 * time.Hour, Failed: 24 * time.Hour}
		same(t, "attempts", len(attemptsOf(t, e, "x")), 4)
		same(t, "of the chains that failed, dry", sweep(t, e, completed, true), "1 map[completed:1]")
		same(t, "of the chains that failed", sweep(t, e, completed, false), "1 map[completed:1]")
		same(t, "attempts of the chain that is kept", len(attemptsOf(t, e, "x")), 4)
		if _, err := e.Describe(t.Context(), "y", again); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the run that used the ID again: %v", err)
		}
		same(t, "all, dry", sweep(t, e, both, true), "6 map[completed:3 failed:3]")
		same(t, "all", sweep(t, e, both, false), "6 map[completed:3 failed:3]")
		same(t, "left", idsOf(t, e), "[]")
	})
}

// startError is the error of a start.
func startError(_ string, _ bool, err error) error { return err }

// slowDeletes is a database in which it takes its time to remove a run.
type slowDeletes struct {
	store.Opener
	each    time.Duration
	batches *[]int
}

func (s slowDeletes) Open(ctx context.Context) (store.Store, error) {
	inner, err := s.Opener.Open(ctx)
	return slowlyDeleting{inner, s}, err
}

type slowlyDeleting struct {
	store.Store
	how slowDeletes
}

func (s slowlyDeleting) Delete(ctx context.Context, d store.Deletion) (int, error) {
	*s.how.batches = append(*s.how.batches, len(d.Runs))
	time.Sleep(time.Duration(len(d.Runs)) * s.how.each)
	return s.Store.Delete(ctx, d)
}

// TestE62_LongHistoriesGoInSmallBatches: what takes long is removed a few at a time, one
// at least, what takes little in larger and larger batches, and all of it goes.
func TestE62_LongHistoriesGoInSmallBatches(t *testing.T) {
	extent.Unwatched(t, "it is about a number")
	for each, want := range map[time.Duration]struct{ least, most int }{
		0: {50, 300}, 80 * time.Microsecond: {50, 200}, 20 * time.Millisecond: {1, 50}, time.Second: {1, 50},
	} {
		var batches []int
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.db = slowDeletes{w.db, each, &batches}
			e := w.start(weighed)
			for n := range 800 {
				begin(t, e, weighed, fmt.Sprint(n), 1)
			}
			pass(time.Hour)
			if r, err := e.Sweep(t.Context(), view.Retention{Completed: time.Minute}, false); err != nil || r.Runs != 800 {
				t.Fatalf("%+v, %v", r, err)
			}
			same(t, "left", len(idsOf(t, e)), 0)
		})
		if batches[0] != 50 || slices.Min(batches[:len(batches)-1]) != want.least || slices.Max(batches) != want.most {
			t.Errorf("at %s each they went in batches of %d", each, batches)
		}
	}
}

// TestE62_ASweepThatIsBehindRestsLess: so that what ends faster than it is removed does not
// pile up for ever.
func TestE62_ASweepThatIsBehindRestsLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const runs, each = 200, 10 * time.Second
		w := newWorld(t)
		w.db = slowDeletes{w.db, each, &[]int{}}
		e := w.start(weighed)
		for n := range runs {
			begin(t, e, weighed, fmt.Sprint(n), 1)
		}
		pass(time.Hour)
		began := time.Now()
		if r, err := e.Sweep(t.Context(), view.Retention{Completed: time.Minute}, false); err != nil || r.Runs != runs {
			t.Fatalf("%+v, %v", r, err)
		}
		const work = runs * each
		if rest := time.Since(began) - work; rest < work/4 || rest > 2*work {
			t.Errorf("with %s of work it rested for %s", work, rest)
		}
	})
}

// TestE62_Batches: many are removed a few at a time; a sweep that fails in the middle
// is finished by the next one; counters and switches go, too.
func TestE62_Batches(t *testing.T) {
	needsQueries.inVirtualTime(t, func(t *testing.T, w *world) {
		const runs = 200
		e := w.start(weighed, newFragile(slowRetry).activity)
		for n := range runs {
			begin(t, e, weighed, fmt.Sprint(n), 1)
		}
		settle()
		for i, off := range []bool{true, false} {
			if _, err := e.SwitchActivity(t.Context(), "fragile", off, 0, fmt.Sprint("s", i), request.By{Who: "ann"}); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Hour)
		keep := view.Retention{Completed: time.Minute, Statistics: time.Minute, Switches: time.Minute}
		plan := w.plans[e]
		plan.Outage(true)
		if r, err := e.Sweep(t.Context(), keep, false); err == nil {
			t.Errorf("swept %+v without a database", r)
		}
		plan.Outage(false)
		before := time.Now()
		r, err := e.Sweep(t.Context(), keep, false)
		if err != nil || r.Runs != runs {
			t.Fatalf("%+v, %v", r, err)
		}
		if time.Since(before) < 55*time.Millisecond {
			t.Errorf("it took no rest between its batches")
		}
		log, err := e.Switches(t.Context(), false)
		if err != nil || len(log) != 1 || log[0].Paused {
			t.Errorf("switches: %+v, %v", log, err)
		}
		if r, err = e.Sweep(t.Context(), view.Retention{Failed: -1}, false); err == nil {
			t.Errorf("a negative time is accepted: %+v", r)
		} else if wrong := (*history.InputError)(nil); !errors.As(err, &wrong) {
			t.Error(err)
		}
	})
}

// TestI25_WhatTheDoctorAdvisesAboutAClosedRun: to delete it, since nothing else depends on it;
// that is done by what deletes closed runs, and the doctor is content then.
func TestI25_WhatTheDoctorAdvisesAboutAClosedRun(t *testing.T) {
	for _, part := range []string{"start", "detail", "turn"} {
		inVirtualTime(t, func(t *testing.T, w *world) {
			v := vandalise(w)
			e := w.start(weighed)
			begin(t, e, weighed, "a", 1)
			pass(time.Minute)
			run := describe(t, e, "a").RunID
			cut := func(b []byte) []byte { return b[: len(b)/2 : len(b)/2] }
			switch part {
			case "turn":
				v.turnOf(run, 1, cut)
			default:
				v.damage(nil, func(r *store.Run) {
					if part == "start" {
						r.Start = cut(r.Start)
					} else {
						r.Detail = cut(r.Detail)
					}
				}, nil)
			}
			found, err := e.Doctor(t.Context(), view.DoctorFilter{})
			if err != nil || len(found.Findings) == 0 {
				t.Fatalf("%s: the doctor finds %+v, %v", part, found, err)
			}
			for _, f := range found.Findings {
				if !strings.HasPrefix(f.Do, "delete it with perdure gc") || strings.Contains(f.Do, "reset") {
					t.Errorf("%s: about a closed run it advises: %s", part, f.Do)
				}
			}
			result, err := e.Sweep(t.Context(), view.Retention{Completed: time.Second}, false)
			if err != nil || result.Runs != 1 {
				t.Errorf("%s: the sweep deletes %+v, %v", part, result, err)
			}
			if found, err = e.Doctor(t.Context(), view.DoctorFilter{}); err != nil || !found.OK {
				t.Errorf("%s: then the doctor finds %+v, %v", part, found, err)
			}
		})
	}
}
