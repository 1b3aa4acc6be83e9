package engine

import (
	"fmt"
	"reflect"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// checkRunControl refuses what no run would accept as an operation on itself.
func checkRunControl(in *core.Control) error {
	switch {
	case !reflect.ValueOf(in.Calls).IsZero():
		return &history.InputError{What: string(in.Operation), Problem: "is an operation on runs and selects no calls"}
	case in.Operation == core.ResetTheRun && in.Call < 1:
		return noCall(in.Call)
	case in.Operation == core.SignalTheRun:
		return history.CheckName("signal name", in.Signal)
	}
	return nil
}

// selectedRun is what a dry run says of a run: nothing if it has ended.
func (e *Engine) selectedRun(row *store.Run, in core.Control) []ControlRecord {
	if !row.Status.Open() {
		return nil
	}
	return []ControlRecord{{
		WorkflowID: row.WorkflowID, RunID: row.ID, Name: in.Signal, Operation: string(in.Operation), By: in.By, Why: in.Reason,
		Outcome: outcomeSelected, Note: fmt.Sprintf("%s, %s", row.Type, row.Status), Time: time.Unix(0, e.clock.Now()).UTC(),
	}}
}
