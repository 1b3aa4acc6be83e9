package policyedit

import (
	"slices"

	"github.com/perdure/perdure/view"
)

// CallError is why a call cannot have the policy that would come of an edit.
type CallError struct {
	WorkflowID string
	Call       int64
	Name       string
	Err        error
}

func (e *CallError) Error() string { return e.Err.Error() }
func (e *CallError) Unwrap() error { return e.Err }

// AddSelected adds the calls that a dry run selected. pending returns the open calls of a
// workflow ID, none if it is gone, and is asked once for each. The error is that of pending,
// or a *CallError.
func (c *Classes) AddSelected(selected []view.ControlRecord, pending func(id string) ([]view.Call, error)) error {
	numbers := map[string][]int64{}
	var runs []string
	for _, r := range selected {
		if numbers[r.WorkflowID] == nil {
			runs = append(runs, r.WorkflowID)
		}
		numbers[r.WorkflowID] = append(numbers[r.WorkflowID], r.Call)
	}
	for _, id := range runs {
		calls, err := pending(id)
		if err != nil {
			return err
		}
		for i := range calls {
			p := &calls[i]
			if p.Policy == "" || !slices.Contains(numbers[id], p.Call) {
				continue
			}
			if err := c.Add(id, p); err != nil {
				return &CallError{id, p.Call, p.Name, err}
			}
		}
	}
	return nil
}
