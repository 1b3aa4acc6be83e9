package engine_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE40_CustomStatus: what the code says of where it stands is shown while the
// run goes on, while it has no code, when it has ended, and is in no event.
func TestE40_CustomStatus(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		def := workflow.New("import", func(wf *workflow.Context, end string) (string, error) {
			workflow.SetStatus(wf, "reading")
			if err := workflow.Sleep(wf, time.Hour); err != nil {
				return "", err
			}
			workflow.SetStatus(wf, "1 of 2")
			workflow.SetStatus(wf, "2 of 2")
			if err := workflow.Sleep(wf, time.Hour); err != nil {
				return "", err
			}
			workflow.SetStatus(wf, end)
			return "", nil
		}, workflow.Version("1"))
		e := w.start(def)
		shown := func(want string) {
			t.Helper()
			runs, err := e.List(t.Context(), view.Filter{})
			if err != nil || len(runs) != 1 {
				t.Fatal(runs, err)
			}
			if d := describe(t, e, "w"); d.CustomStatus != want || runs[0].CustomStatus != want {
				t.Errorf("described as %q and listed as %q, want %q", d.CustomStatus, runs[0].CustomStatus, want)
			}
		}
		begin(t, e, def, "w", "done")
		settle()
		shown("reading")
		pass(time.Hour + time.Second)
		shown("2 of 2")
		stop(t, e)
		e = w.start() // without the code
		signal(t, e, "w", "look", "", 1)
		settle()
		if d := describe(t, e, "w"); d.Status != string(store.WaitingForCode) || d.Reason == "" {
			t.Errorf("the run is %s: %q", d.Status, d.Reason)
		}
		shown("2 of 2")
		stop(t, e)
		e = w.start(def)
		settle()
		if d := describe(t, e, "w"); d.Status != string(store.Running) || d.Reason != "" {
			t.Errorf("the run is %s: %q", d.Status, d.Reason)
		}
		shown("2 of 2")
		pass(time.Hour)
		shown("done")
		if got := kindsOf(t, e, "w"); len(got) != 6 {
			t.Errorf("the history is %v, want two timers, a signal and the end", got)
		}
	})
}

// TestE41_RemovedMark: a run whose version mark the code lacks is parked, and goes
// on with code that has it.
func TestE41_RemovedMark(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		marked := func(version string, mark bool) workflow.Workflow[string, int] {
			return workflow.New("flow", func(wf *workflow.Context, _ string) (int, error) {
				v := 0
				if mark {
					v = workflow.VersionOf(wf, "x", 0, 1)
				}
				return v, workflow.Sleep(wf, time.Hour)
			}, workflow.Version(version))
		}
		e := w.start(marked("1", true))
		begin(t, e, marked("1", true), "w", "")
		settle()
		stop(t, e)
		e = w.start(marked("2", false))
		pass(2 * time.Hour)
		want := `the code does not fit the history: turn 1, command 1: history has VersionMarked "x" version 1, the code asks for TimerStarted "sleep" (a version mark must stay where it is as long as there are runs with it) ` + see.Misfit
		if d := describe(t, e, "w"); d.Status != string(store.Parked) || d.Reason != want {
			t.Errorf("the run is %s: %s", d.Status, d.Reason)
		}
		stop(t, e)
		e = w.start(marked("1", true))
		if got, err := finish[int](t, e, "w"); got != 1 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
	})
}
