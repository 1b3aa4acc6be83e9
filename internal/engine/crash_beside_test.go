package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// slowTurns is a database on a busy disk: each turn of a run takes a second to commit.
type slowTurns struct {
	store.Opener
	committing *atomic.Bool
}

func (o slowTurns) Open(ctx context.Context) (store.Store, error) {
	s, err := o.Opener.Open(ctx)
	return slowTurnStore{s, o.committing}, err
}

type slowTurnStore struct {
	store.Store
	committing *atomic.Bool
}

func (s slowTurnStore) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	for i := range turns {
		if turns[i].Number > 0 {
			s.committing.Store(true)
			time.Sleep(time.Second)
			s.committing.Store(false)
			break
		}
	}
	return s.Store.Commit(ctx, turns)
}

// TestE87_WhatIsBesideTheCodeIsNotCharged: a run alone in its database whose process is killed
// again and again, always while the turn of its code is committed. The code had returned, so
// no death is charged to it.
func TestE87_WhatIsBesideTheCodeIsNotCharged(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var committing atomic.Bool
		fast := w.db
		w.db = slowTurns{fast, &committing}
		naps := workflow.New("naps", func(wf *workflow.Context, n int) (int, error) {
			return n, workflow.Sleep(wf, time.Second)
		})
		e := w.start(naps)
		begin(t, e, naps, "alone", 3)
		for death := range 14 {
			for range 1000 {
				if pass(10 * time.Millisecond); committing.Load() {
					break
				}
			}
			if d := describe(t, e, "alone"); !committing.Load() || d.Status != view.StatusRunning {
				t.Fatalf("after %d deaths it is %s: %s", death, d.Status, d.Reason)
			}
			w.kill(e)
			pass(2 * time.Second)
			committing.Store(false)
			e = w.start(naps)
		}
		if got, err := finish[int](t, e, "alone"); got != 3 || err != nil {
			t.Errorf("%d, %v", got, err)
		}
	})
}

// parkedByDeaths lets the process die while the code of the only run runs until that is
// parked, or for as many times as it takes a harmless one not to be.
func parkedByDeaths(t *testing.T, w *world, deadly *atomic.Bool, options ...workflow.Option) (e *engine.Engine, ends workflow.Workflow[int, int]) {
	var running atomic.Bool
	ends = workflow.New("ends", func(wf *workflow.Context, n int) (int, error) {
		if err := workflow.Sleep(wf, 100*time.Millisecond); err != nil { // begin returns
			return 0, err
		}
		if deadly.Load() {
			running.Store(true)
			//perdure:deterministic the process dies meanwhile
			time.Sleep(5 * time.Second)
		}
		return n, nil
	}, options...)
	e = w.start(ends)
	begin(t, e, ends, "run", 7)
	for range 8 {
		for range 500 {
			if pass(10 * time.Millisecond); running.Load() {
				break
			}
		}
		if describe(t, e, "run").Status == view.StatusParked {
			break
		}
		w.kill(e)
		pass(6 * time.Second)
		running.Store(false)
		e = w.start(ends)
	}
	return e, ends
}

// TestE87_APersonLetsAParkedRunGo: resume-run tries the code again that ended its process,
// also if the process is another one by then, and the doctor and the run say so.
func TestE87_APersonLetsAParkedRunGo(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var deadly atomic.Bool
		deadly.Store(true)
		e, ends := parkedByDeaths(t, w, &deadly)
		if d := describe(t, e, "run"); d.Status != view.StatusParked {
			t.Fatalf("it is %s: %s", d.Status, d.Reason)
		}
		found, err := e.Doctor(t.Context(), view.DoctorFilter{})
		if err != nil || len(found.Findings) != 1 || found.Findings[0].Kind != view.FindingCrash || found.Findings[0].WorkflowID != "run" {
			t.Errorf("the doctor finds %+v, %v", found, err)
		}
		deadly.Store(false)
		w.kill(e)
		e = w.start(ends)
		pass(time.Minute)
		same(t, "status after a restart", describe(t, e, "run").Status, view.StatusParked)
		control(t, e, "run", core.Control{ID: "r", Operation: core.ResumeTheRun, By: "ann"})
		if got, err := finish[int](t, e, "run"); got != 7 || err != nil {
			t.Errorf("after the resumption: %d, %v", got, err)
		}
	})
}

// TestE87_AnInterpreterIsNotSuspected: code that cannot end its process is never parked for
// that, however often the process is killed while it runs.
func TestE87_AnInterpreterIsNotSuspected(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var deadly atomic.Bool
		deadly.Store(true)
		e, _ := parkedByDeaths(t, w, &deadly, seal.With(func(d *seal.WorkflowDeclaration) { d.Harmless = true }))
		deadly.Store(false)
		if got, err := finish[int](t, e, "run"); got != 7 || err != nil {
			t.Errorf("%d, %v", got, err)
		}
	})
}
