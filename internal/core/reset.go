package core

import (
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// Reset returns the start event of the next run of a chain, which continues from a call.
// The times of the run and the chain start over, because an operator wants the run to go
// on.
func (c *Cut) Reset(source *history.Start, run string, now int64, in Control) *history.Start {
	s := c.begin(source, run, now, in)
	s.Initiator, s.Previous, s.Number = history.ResetOfRun, source.Run, max(source.Number, 1)+1
	s.First = source.Origin()
	carried := history.Carried{}
	if source.Carried != nil {
		carried = *source.Carried
		carried.Admission = nil // resetRun hands on that of an open run
	}
	carried.Asked = slices.Clone(c.operationIDs)
	if in.ID != "" && !slices.Contains(carried.Asked, in.ID) {
		carried.Asked = append(carried.Asked, in.ID)
	}
	s.Carried = &carried
	return s
}

// Fork returns the start event of the first run of a new chain, which continues from a call
// of another run. The new run has no parent, and does not inherit the IDs of operations and
// updates of the other run.
func (c *Cut) Fork(source *history.Start, workflowID, run string, now int64, in Control) *history.Start {
	s := c.begin(source, run, now, in)
	s.WorkflowID, s.Chain, s.First = workflowID, run, nil
	s.Initiator, s.Previous, s.Number, s.After, s.Parent = history.ForkOfRun, "", 0, "", nil
	if !s.Base.KeepKeys {
		s.Base.Keys = nil
	}
	if source.Carried != nil {
		carried := *source.Carried
		carried.Asked, carried.Updates, carried.Admission = nil, nil, nil
		s.Carried = &carried
	}
	return s
}

// begin returns the part that Reset and Fork have in common.
func (c *Cut) begin(source *history.Start, run string, now int64, in Control) *history.Start {
	s := *source
	s.Run, s.Attempt, s.Created = run, 1, now
	s.FirstTurn, s.Failure, s.Backoff, s.FirstAttempt, s.Deadline = 0, nil, 0, 0, 0
	if s.ChainDeadline = 0; s.ChainTimeout > 0 {
		s.ChainDeadline = addTime(now, s.ChainTimeout)
	}
	base := c.base
	base.Request, base.By, base.Reason = in.ID, in.By, in.Reason
	base.Inputs = maps.Clone(base.Inputs)
	s.Base = &base
	return &s
}
