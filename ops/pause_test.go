package ops_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE60_APauseForATime: a pause with ops.For ends by itself, and what is no pause of an activity
// refuses it.
func TestE60_APauseForATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		charge := activity.New("charge", func(context.Context, int) (int, error) { return 1, nil })
		checkout := workflow.New("checkout", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, charge, n) })
		e, err := perdure.Open(t.Context(), memory.New(), perdure.Register(checkout, charge))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		record, err := ops.PauseActivity(t.Context(), e, "charge", ops.For(2*time.Hour))
		if err != nil || record.Until == nil || record.Until.Sub(record.Time) != 2*time.Hour {
			t.Fatalf("%+v, %v", record, err)
		}
		start := time.Now()
		if _, err := perdure.Run(t.Context(), e, checkout, "a", 1); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start).Round(time.Second); took != 2*time.Hour {
			t.Errorf("it ran after %s", took)
		}
		for name, err := range map[string]error{
			"a gate":  ops.PauseGate(t.Context(), e, "g", ops.For(time.Hour)),
			"a pause": second(ops.ControlAll(t.Context(), e, view.Filter{}, view.CallFilter{}, ops.Pause(), ops.For(time.Hour))),
			"resume":  second(ops.ResumeActivity(t.Context(), e, "charge", ops.For(time.Hour))),
		} {
			if err == nil || !strings.Contains(err.Error(), "ops.For is for ops.PauseActivity") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }
