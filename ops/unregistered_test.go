package ops_test

import (
	"context"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// TestF3_ATypoIsWarnedOf: a name that no node has is done as it was asked for, and warned of
// with the name that was meant; a name that a node has, and any name while no node is known, is
// not.
func TestF3_ATypoIsWarnedOf(t *testing.T) {
	charge := activity.New("charge", func(context.Context, int) (int, error) { return 1, nil })
	checkout := workflow.New("checkout", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, charge, n) })
	e, err := perdure.Open(t.Context(), memory.New(), perdure.Register(checkout, charge))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if warning, err := ops.Unregistered(t.Context(), e, "activity", "chrage"); warning != "" || err != nil {
		t.Errorf("before any node is known: %q, %v", warning, err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ kind, name, want string }{
		{"activity", "charge", ""}, {"workflow", "checkout", ""}, {"activity", "chrage", "Did you mean charge?"},
		{"workflow", "chekout", "Did you mean checkout?"}, {"workflow", "charge", `no node is known that has workflow "charge"`},
	} {
		warning, err := ops.Unregistered(t.Context(), e, c.kind, c.name)
		if err != nil || (warning == "") != (c.want == "") || !strings.Contains(warning, c.want) {
			t.Errorf("%s %s: %q, %v", c.kind, c.name, warning, err)
		}
	}
	for _, dry := range []bool{true, false} {
		var options []ops.ControlOption
		if dry {
			options = append(options, ops.DryRun())
		}
		record, err := ops.PauseActivity(t.Context(), e, "chrage", options...)
		if err != nil || !strings.Contains(record.Warning, "Did you mean charge?") || record.Time.IsZero() != dry {
			t.Errorf("dry run %v: %+v, %v", dry, record, err)
		}
	}
	if _, err := ops.Unregistered(t.Context(), e, "gate", "x"); err == nil {
		t.Error("a gate is neither")
	}
}
