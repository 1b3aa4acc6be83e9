package engine_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// whenItBegan is a workflow that tells when its code began.
var whenItBegan = workflow.New("when", func(wf *workflow.Context, _ int) (time.Time, error) {
	return workflow.Now(wf), nil
}, workflow.Version("1"))

func startWith(t *testing.T, e *engine.Engine, id string, req request.Start) (attached bool, err error) {
	t.Helper()
	req.WorkflowID, req.Type = id, whenItBegan.Name()
	req.Input, _ = history.Encode(1)
	_, attached, err = e.StartRun(t.Context(), req)
	return attached, err
}

// TestE49_Delay: the code of a run with a delay begins when the delay is over, even if its
// engine was down meanwhile, and not at all if the run is canceled before.
func TestE49_Delay(t *testing.T) {
	needsClocks.inBothModes(t, func(t *testing.T, w *world) {
		began := time.Now()
		e, all := askers(t, w, whenItBegan)
		for i, from := range all {
			id := []string{"here", "elsewhere"}[i]
			if _, err := startWith(t, from, id, request.Start{Delay: time.Hour}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := startWith(t, e, "canceled", request.Start{Delay: time.Hour}); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Minute)
		d := describe(t, e, "here")
		if next := began.Add(time.Hour); d.Status != string(store.Running) || d.NextWake == nil || !d.NextWake.Equal(next) {
			t.Errorf("before its time the run is %s, until %v, want %s", d.Status, d.NextWake, next)
		}
		if err := e.Cancel(t.Context(), "canceled", "", request.By{Why: "enough"}); err != nil {
			t.Fatal(err)
		}
		settle()
		if d := describe(t, e, "canceled"); d.Status != string(store.Canceled) {
			t.Errorf("canceled before its time the run is %s", d.Status)
		}
		stop(t, e)
		pass(10 * time.Minute)
		e = w.start(whenItBegan)
		for i := range all {
			id := []string{"here", "elsewhere"}[i]
			at, err := finish[time.Time](t, e, id)
			if want := began.Add(time.Hour); err != nil || !at.Equal(want.UTC()) {
				t.Errorf("%s: the code began at %s, %v; want %s", id, at, err, want)
			}
		}
	})
}
