package engine

import (
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

func viewBase(start *history.Start) *BaseInfo {
	b := start.Base
	if b == nil {
		return nil
	}
	return &BaseInfo{WorkflowID: b.WorkflowID, RunID: b.Run, Call: b.Call, Request: b.Request, By: b.By, Why: b.Reason}
}

// auditOfBase is the entry of a run's audit that says why it goes on from another one.
func auditOfBase(row *store.Run, start *history.Start) []ControlRecord {
	b := start.Base
	if b == nil {
		return nil
	}
	operation := string(core.ResetTheRun)
	if start.Initiator == history.ForkOfRun {
		operation = history.ForkOfRun
	}
	return []ControlRecord{{
		WorkflowID: row.WorkflowID, RunID: row.ID, Call: b.Call, Operation: operation, Request: b.Request, By: b.By, Why: b.Reason,
		Outcome: core.Applied, Note: "goes on from run " + b.Run + " of workflow " + b.WorkflowID, Time: time.Unix(0, start.Created).UTC(),
	}}
}

// madeBy is the run that made the attempt which ended a call, if that is another one
// than the run in whose history it stands: what came before it went on by itself.
func madeBy(start *history.Start, ended TurnEvent) string {
	if ended.Turn > start.Base.LastCut() {
		return ""
	}
	for _, was := range start.Base.Was {
		if ended.Call < was.Before {
			return was.Run
		}
	}
	return ""
}
