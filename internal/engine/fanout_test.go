package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE23_AFanOutIsSeenCallByCall: calls that wait for slots share a row, and are seen and
// operated on one by one all the same; after a crash only those are lost that had begun.
func TestE23_AFanOutIsSeenCallByCall(t *testing.T) {
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		const width, slots = 60, 8
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			return n, busy(ctx, time.Duration(1+n%3)*time.Minute)
		})
		wide := workflow.New("wide", func(wf *workflow.Context, _ int) (int, error) {
			futures := make([]workflow.Future[int], width)
			for i := range futures {
				futures[i] = workflow.Async(wf, work, i)
			}
			sum := 0
			for _, f := range futures {
				n, err := f.Get(wf)
				if err != nil {
					return 0, err
				}
				sum += n
			}
			return sum, nil
		})
		start := func() *engine.Engine {
			config := w.config(wide, work)
			config.Concurrency = slots
			return w.startWith(config)
		}
		db := w.raw()
		defer db.Close()
		look := func(e *engine.Engine, when string, running, queued int) {
			t.Helper()
			states := map[string]int{}
			for _, c := range describe(t, e, "wide").Pending {
				states[c.State]++
			}
			if states[view.CallRunning] != running || states[view.CallQueued] != queued {
				t.Errorf("%s: the calls are %v, want %d running and %d queued", when, states, running, queued)
			}
			s, err := e.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			waiting := 0
			for _, g := range s.Waiting {
				if g.For == view.WaitSlot && g.Name == "work" {
					waiting += g.Count
				}
			}
			counts, err := db.Counts(t.Context(), nil, 0)
			if err != nil || waiting != queued || counts.Calls[store.Queued] != queued {
				t.Errorf("%s: in the status %d wait, counted are %v, want %d; %v", when, waiting, counts.Calls, queued, err)
			}
		}
		e := start()
		begin(t, e, wide, "wide", 0)
		pass(time.Second)
		look(e, "at first", slots, width-slots)
		if got := rowsOf(t, db, "wide"); len(got) != 1 || got[0].Calls() != width-slots {
			t.Errorf("these rows are there: %+v", got)
		}
		pass(65 * time.Second) // three of the eight have ended, and as many have begun
		look(e, "after a minute", slots, width-slots-3)
		w.kill(e)
		e = start()
		pass(time.Second)
		look(e, "after a crash", slots, width-slots-3)
		attempts, err := e.Attempts(t.Context(), "wide", "", view.AttemptRange{})
		if err != nil {
			t.Fatal(err)
		}
		lost := slices.DeleteFunc(attempts, func(a view.Attempt) bool { return a.Outcome != view.OutcomeLost })
		if len(lost) != slots {
			t.Errorf("%d attempts are lost, want the %d that had begun", len(lost), slots)
		}
		for _, a := range lost { // three of them began when others had ended
			if since := here() - a.Started.UnixNano(); (a.Call > slots) != (since < int64(30*time.Second)) {
				t.Errorf("call %d has the lost attempt %+v", a.Call, a)
			}
		}
		if _, err := e.Control(t.Context(), "wide", "", core.Control{ID: "p", Operation: core.PauseCall, Calls: core.Selection{Call: 40}}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		look(e, "with one paused", slots, width-slots-4)
		if got := rowsOf(t, db, "wide"); len(got) > 2+slots+3 {
			t.Errorf("%d rows are there", len(got))
		}
		if _, err := e.Control(t.Context(), "wide", "", core.Control{ID: "r", Operation: core.ResumeCall, Calls: core.Selection{Call: 40}}); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		if got, err := finish[int](t, e, "wide"); err != nil || got != width*(width-1)/2 {
			t.Errorf("it is %d, %v", got, err)
		}
		if got := rowsOf(t, db, "wide"); len(got) != 0 {
			t.Errorf("these rows are left: %+v", got)
		}
	})
}

// rowsOf returns the rows of a run's calls.
func rowsOf(t *testing.T, db store.Store, workflowID string) []store.Call {
	t.Helper()
	r, err := db.Find(t.Context(), 0, workflowID, "")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Calls(t.Context(), r.Partition, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
