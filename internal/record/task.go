package record

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

// seal encodes the data of a task. It leaves out what the columns of the row hold, because a
// row is written for each attempt, and again when it is claimed.
func (t Task) seal(run string) ([]byte, error) {
	d := &t.Dispatch
	if t.CallID == core.CallID(run, d.Call) {
		t.CallID = ""
	}
	t.WorkflowID = ""
	d.Call, d.Attempt, d.Name, d.Queue, d.Priority, d.Probation = 0, 0, "", "", 0, false
	return history.Seal(t)
}

// LoadTask decodes the data of a task, with what the columns of its row hold.
func LoadTask(row *store.Task, into *Task) error {
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

// storeTasks translates what a turn says about queues.
func storeTasks(t *store.Turn, of store.RunRef, run *core.Run, out *core.Turn) error {
	t.Over, t.Withdrawn, t.GivenUp, t.Stopped = taskRefs(of, out.Over), taskRefs(of, out.Withdrawn), taskRefs(of, out.GivenUp), taskRefs(of, out.Stopped)
	if len(out.Offered) == 0 {
		return nil // the usual case
	}
	start := run.Start()
	for _, d := range out.Offered {
		task := Task{Workflow: start.Type, WorkflowID: start.WorkflowID, CallID: run.CallID(d.Call, d.Name), Headers: start.Headers, Dispatch: d}
		data, err := task.seal(of.Run)
		if err != nil {
			return err
		}
		t.Offered = append(t.Offered, store.Task{
			TaskRef:    store.TaskRef{Partition: of.Partition, Run: of.Run, Number: d.Call, Attempt: d.Attempt},
			WorkflowID: start.WorkflowID, Queue: d.Queue, Name: d.Name, Key: start.Key, Weight: start.Weight, Priority: d.Priority, Suspect: d.Probation, Offered: d.Queued, Latest: d.Latest, Data: data,
		})
	}
	return nil
}

func taskRefs(of store.RunRef, all []core.AttemptRef) (list []store.TaskRef) {
	for _, a := range all {
		list = append(list, store.TaskRef{Partition: of.Partition, Run: of.Run, Number: a.Call, Attempt: a.Attempt})
	}
	return list
}
