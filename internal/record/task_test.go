package record

import (
	"reflect"
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// TestWhatATaskSaysIsThatOfItsRow: what is left out of its data is read from its row.
func TestWhatATaskSaysIsThatOfItsRow(t *testing.T) {
	for name, call := range map[string]string{"its own call": "run/7", "a call of the run before": "other/7"} {
		full := Task{Workflow: "order", WorkflowID: "order-1", CallID: call, Headers: map[string]string{"a": "b"}, Dispatch: core.Dispatch{
			Call: 7, Attempt: 3, Max: 5, Allowed: 4, Final: true, Probation: true, Name: "render", Queue: "gpu", Priority: 2, Trace: "t",
			Scheduled: 11, Queued: 12, AttemptTimeout: 13,
		}}
		row := store.Task{TaskRef: store.TaskRef{Partition: 1, Run: "run", Number: 7, Attempt: 3}, WorkflowID: "order-1", Queue: "gpu", Name: "render", Priority: 2, Suspect: true}
		short, err := full.seal("run")
		if err != nil {
			t.Fatal(err)
		}
		long, err := history.Seal(full)
		if err != nil {
			t.Fatal(err)
		}
		if len(short) >= len(long) {
			t.Errorf("%s: %d bytes of %d", name, len(short), len(long))
		}
		row.Data = short
		var got Task
		if err := LoadTask(&row, &got); err != nil || !reflect.DeepEqual(got, full) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}
