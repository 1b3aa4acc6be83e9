package inspect

import (
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

func baseOf(start *history.Start) *view.Base {
	b := start.Base
	if b == nil {
		return nil
	}
	return &view.Base{WorkflowID: b.WorkflowID, RunID: b.Run, Call: b.Call, Request: b.Request, By: b.By, Why: b.Reason}
}

// BaseRecord returns the audit record of the reset or fork with which a run began, or none.
func BaseRecord(row *store.Run, start *history.Start) []view.ControlRecord {
	b := start.Base
	if b == nil {
		return nil
	}
	operation := string(core.ResetTheRun)
	if start.Initiator == history.ForkOfRun {
		operation = history.ForkOfRun
	}
	return []view.ControlRecord{{
		WorkflowID: row.WorkflowID, RunID: row.ID, Call: b.Call, Operation: operation, Request: b.Request, By: b.By, Why: b.Reason,
		Outcome: core.Applied, Note: "continues from run " + b.Run + " of workflow " + b.WorkflowID, Time: at(start.Created),
	}}
}

// madeBy returns the run that made the attempt which closed a call in a turn, if that is
// copied history of another run; otherwise "".
func madeBy(start *history.Start, turn, call int64) string {
	if turn > start.Base.LastCut() {
		return ""
	}
	for _, was := range start.Base.Was {
		if call < was.Before {
			return was.Run
		}
	}
	return ""
}
