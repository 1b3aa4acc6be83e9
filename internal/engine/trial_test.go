package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// TestE87_MarksOnlyWhileSuspected: turns are marked only after two owners in a row died, and
// no longer when the next owner has lived for a while. All runs continue meanwhile, and a run
// that was never tried is not charged.
func TestE87_MarksOnlyWhileSuspected(t *testing.T) {
	ticking := workflow.New("ticking", func(wf *workflow.Context, n int) (int, error) {
		for range n {
			if err := workflow.Sleep(wf, time.Second); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	inBothModes(t, func(t *testing.T, w *world) {
		const runs, ticks = 5, 100
		marked := func(e *engine.Engine) bool {
			t.Helper()
			rows, err := engine.Standing(e)
			if err != nil {
				t.Fatal(err)
			}
			return len(rows) > 0
		}
		e := w.start(ticking)
		for i := range runs {
			begin(t, e, ticking, fmt.Sprint(i), ticks)
		}
		for death := range 4 {
			pass(3 * time.Second)
			if suspected := death >= 2; marked(e) != suspected {
				t.Errorf("after %d deaths, runs are marked: %t", death, !suspected)
			}
			w.kill(e)
			e = w.start(ticking)
		}
		pass(40 * time.Second)
		if marked(e) {
			t.Error("when the engine has lived for a while, runs are still marked")
		}
		for i := range runs {
			if d := describe(t, e, fmt.Sprint(i)); d.Status != string(core.StatusRunning) {
				t.Errorf("run %d is %s: %s", i, d.Status, d.Reason)
			}
		}
		for i := range runs {
			if n, err := finish[int](t, e, fmt.Sprint(i)); n != ticks || err != nil {
				t.Errorf("run %d: %d, %v", i, n, err)
			}
		}
		if _, err := e.Describe(t.Context(), "#trials/0", ""); !errors.Is(err, store.ErrNotFound) {
			if err == nil {
				t.Error("the book is shown as a workflow")
			}
		}
	})
}

// TestE87_SuspectsOfAllPartitionsAreTriedApart: a process that dies is the fault of one run.
// If suspects of two partitions ran at the same time, both would be charged.
func TestE87_SuspectsOfAllPartitionsAreTriedApart(t *testing.T) {
	inBothModesShared(t, 2, func(t *testing.T, w *world) {
		var running, most atomic.Int32
		slow := workflow.New("slow", func(wf *workflow.Context, n int) (int, error) {
			if err := workflow.Sleep(wf, time.Second); err != nil {
				return 0, err
			}
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			//perdure:deterministic the process dies meanwhile
			time.Sleep(2 * time.Second)
			return n, nil
		})
		e := w.start(slow)
		one := []string{"a", "b"} // in each partition
		if all := (store.Group{Partitions: 2}); entity.Place(all, one[0]) == entity.Place(all, one[1]) {
			t.Fatal("both runs are in one partition")
		}
		for n, id := range one {
			begin(t, e, slow, id, n)
		}
		for death := range 5 {
			pass(1500 * time.Millisecond)
			if running.Load() == 0 {
				t.Errorf("after %d deaths no code runs", death)
			}
			w.kill(e)
			pass(3 * time.Second)
			most.Store(0)
			e = w.start(slow)
		}
		pass(1500 * time.Millisecond)
		if n := most.Load(); n != 1 {
			t.Errorf("the code of %d suspects runs at a time", n)
		}
		for n, id := range one {
			if got, err := finish[int](t, e, id); got != n || err != nil {
				t.Errorf("run %s: %d, %v", id, got, err)
			}
		}
	})
}

// unfound is a database that cannot find the latest run of one workflow ID.
type unfound struct{ store.Opener }

func (o unfound) Open(ctx context.Context) (store.Store, error) {
	s, err := o.Opener.Open(ctx)
	return unfinding{s}, err
}

type unfinding struct{ store.Store }

func (s unfinding) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	if workflowID == "damaged" && run == "" {
		return nil, errors.New("the page is damaged")
	}
	return s.Store.Find(ctx, partition, workflowID, run)
}

// TestE87_I9_AMessageWithoutReaderHoldsNoTrialUp: the trials of a partition look into its
// inbox first. What cannot be delivered there waits, and all others go on.
func TestE87_I9_AMessageWithoutReaderHoldsNoTrialUp(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		nap := workflow.New("nap", func(wf *workflow.Context, n int) (int, error) { return n, workflow.Sleep(wf, 10*time.Second) })
		e := w.start(nap)
		begin(t, e, nap, "damaged", 0)
		begin(t, e, nap, "sound", 1)
		for range 2 {
			w.kill(e)
			e = w.start(nap)
		}
		w.kill(e)
		raw := w.raw()
		m, err := message.Request(store.Group{Partitions: 1}, "damaged", "", &core.Control{Operation: core.SignalTheRun, Signal: "hello"})
		if err == nil {
			err = raw.Post(t.Context(), m)
		}
		if err := errors.Join(err, raw.Close()); err != nil {
			t.Fatal(err)
		}
		w.db = unfound{w.db}
		e = w.start(nap)
		if n, err := finish[int](t, e, "sound"); n != 1 || err != nil {
			t.Errorf("the sound run: %d, %v", n, err)
		}
	})
}
