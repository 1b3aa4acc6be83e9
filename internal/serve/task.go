package serve

import (
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// Task is the data of a store.Task.
type Task struct {
	Workflow   string            `json:"workflow"`
	WorkflowID string            `json:"workflow_id,omitempty"`
	CallID     string            `json:"call_id,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	Dispatch   core.Dispatch     `json:"dispatch"`
}

// Seal encodes the data of a task. It leaves out what the columns of the row hold, because a
// row is written for each attempt, and again when it is claimed.
func Seal(t Task, run string) ([]byte, error) {
	d := &t.Dispatch
	if t.CallID == core.CallID(run, d.Call) {
		t.CallID = ""
	}
	t.WorkflowID = ""
	d.Call, d.Attempt, d.Name, d.Queue, d.Priority, d.Probation = 0, 0, "", "", 0, false
	return history.Seal(t)
}

// unseal decodes the data of a task, with what the columns of its row hold.
func unseal(row *store.Task, into *Task) error {
	if err := history.Unseal(row.Data, into); err != nil {
		return err
	}
	d := &into.Dispatch
	into.WorkflowID = row.WorkflowID
	if into.CallID == "" {
		into.CallID = core.CallID(row.Run, row.Number)
	}
	d.Call, d.Attempt, d.Name, d.Queue, d.Priority, d.Probation = row.Number, row.Attempt, row.Name, row.Queue, row.Priority, row.Suspect
	return nil
}
