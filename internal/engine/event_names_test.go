package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// TestI12_EveryEventOfACallHasItsName: who reads how a call ended sees what ended, without
// a look for where it was scheduled.
func TestI12_EveryEventOfACallHasItsName(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		charge := activity.New("charge", func(context.Context, int) (int, error) { return 1, nil })
		refuse := activity.New("refuse", func(context.Context, int) (int, error) {
			return 0, errors.New("no")
		}, activity.Retry(retry.Policy{MaxAttempts: 1}))
		order := workflow.New("order", func(wf *workflow.Context, _ int) (int, error) {
			if _, err := workflow.Call(wf, refuse, 1); err == nil {
				t.Error("it did not fail")
			}
			return workflow.Call(wf, charge, 1)
		})
		e := w.start(order, charge, refuse)
		begin(t, e, order, "run", 1)
		if _, err := finish[int](t, e, "run"); err != nil {
			t.Fatal(err)
		}
		events, err := e.Events(t.Context(), "run", "")
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]string{}
		for _, ev := range events {
			var recorded struct{ Name string }
			if err := json.Unmarshal(ev.Record, &recorded); err != nil {
				t.Fatal(err)
			}
			if ev.Call != 0 && (ev.Name == "" || recorded.Name != ev.Name) {
				t.Errorf("%s of call %d has the name %q, in JSON %q", ev.Kind, ev.Call, ev.Name, recorded.Name)
			}
			names[ev.Kind] = ev.Name
		}
		if names["CallFailed"] != "refuse" || names["CallCompleted"] != "charge" {
			t.Errorf("the names are %v", names)
		}
	})
}
