package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// A run is reset by whoever may write its next turn: an open one by its owner, in the
// turn that closes it, one that has ended by whoever asks. In both cases the database
// copies the history; only the turn that is cut is handed to it.

// resetRule gives a request to reset a run a turn of its own, so that all that came
// before it is on record.
func resetRule(e *Engine) rule {
	return rule{
		limits: func(m mail) bool {
			in, is := m.input.(core.Control)
			return is && in.Operation == core.ResetTheRun
		},
		alone: e.prepareReset,
	}
}

// prepareReset adds to a request to reset a run what can be kept of its history, or why
// nothing can. Nobody else makes it longer meanwhile.
func (e *Engine) prepareReset(r *activeRun, m *mail) error {
	in := m.input.(core.Control)
	start := r.run.Start()
	var turns []core.StoredTurn
	err := e.insist("reading the history of run "+r.id, func() (err error) {
		turns, err = e.Turns(e.ctx, r.partition.number, r.id)
		return err
	})
	if err != nil {
		return err
	}
	in.Cut, in.Fault = core.CutAt(&start, turns, in.Call)
	m.input = in
	return nil
}

// cutAt reads the history of a run and cuts it at a call.
func (e *Engine) cutAt(ctx context.Context, row *store.Run, call int64) (*core.Cut, history.Start, error) {
	start, err := history.DecodeStart(row.Start)
	if err != nil {
		return nil, start, err
	}
	turns, err := e.Turns(ctx, row.Partition, row.ID)
	if err != nil {
		return nil, start, err
	}
	cut, err := core.CutAt(&start, turns, call)
	if err != nil {
		err = &cutError{err}
	}
	return cut, start, err
}

// cutError says that nobody can go on from a call of a run.
type cutError struct{ error }

// resetEnded creates the run that goes on after one that has ended. Of several requests
// for it one is carried out.
func (e *Engine) resetEnded(ctx context.Context, row *store.Run, in core.Control) (ControlRecord, error) {
	answer := e.resetAnswer(row, in)
	if wasAsked(row, in.ID) {
		answer.Outcome, answer.Note = core.Unchanged, "it was carried out on an earlier run of the chain"
		return answer, nil
	}
	cut, start, err := e.cutAt(ctx, row, in.Call)
	if refusal := (*cutError)(nil); errors.As(err, &refusal) {
		answer.Outcome, answer.Note = core.Refused, refusal.Error()
		return answer, nil
	} else if err != nil {
		return answer, err
	}
	now := e.clock.Now()
	next := cut.Reset(&start, ident.NewRun(core.RunTimeAfter(row.ID, now)), now, in)
	err = e.createBased(ctx, row, cut, next, row.ID)
	answer.Outcome, answer.Note = core.Applied, cut.String()
	if conflict := (*store.ConflictError)(nil); errors.As(err, &conflict) {
		answer.Outcome, answer.Note = core.Refused, fmt.Sprintf("run %s has the workflow ID", conflict.Existing.ID)
		if wasAsked(&conflict.Existing, in.ID) {
			answer.Outcome, answer.Note = core.Unchanged, "it was carried out already"
		}
		err = nil
	}
	return answer, err
}

// resetBefore answers a reset that was carried out: the run is what came of it.
func (e *Engine) resetBefore(s *sentControl) error {
	start, err := history.DecodeStart(s.row.Start)
	if b := start.Base; err == nil && b != nil && start.Initiator == history.ResetOfRun && b.Request == s.id {
		s.records = inspect.BaseRecord(s.row, &start)
		s.records[0].RunID = b.Run
	}
	return err
}

// resetLatest carries a reset out on a run that has ended, if it is the latest of its
// workflow ID.
func (e *Engine) resetLatest(ctx context.Context, s *sentControl, in core.Control) error {
	latest, err := e.db.Find(ctx, s.row.Partition, s.row.WorkflowID, "")
	if err != nil {
		return err
	}
	if latest.ID == s.row.ID {
		s.row = latest
		record, err := e.resetEnded(ctx, latest, in)
		if err == nil {
			s.records = append(s.records, record)
		}
		return err
	}
	record := e.resetAnswer(s.row, in)
	record.Outcome, record.Note = core.Refused, fmt.Sprintf("run %s has followed it; fork a run from it, or reset the latest one", latest.ID)
	if wasAsked(latest, in.ID) {
		record.Outcome, record.Note = core.Unchanged, "it was carried out already"
	}
	s.records = append(s.records, record)
	return nil
}

func (e *Engine) resetAnswer(row *store.Run, in core.Control) ControlRecord {
	return ControlRecord{
		WorkflowID: row.WorkflowID, RunID: row.ID, Call: in.Call, Operation: string(in.Operation),
		Request: in.ID, By: in.By, Why: in.Reason, Time: time.Unix(0, e.clock.Now()).UTC(),
	}
}

// createBased creates a run that begins with the history of another one.
func (e *Engine) createBased(ctx context.Context, source *store.Run, cut *core.Cut, start *history.Start, after string) error {
	row, err := record.NewRun(entity.Place(e.group, start.WorkflowID), start)
	if err != nil {
		return err
	}
	row.After = after
	if row.Base, err = record.StoreBase(store.RunRef{Partition: source.Partition, Run: source.ID}, cut); err != nil {
		return err
	}
	err = e.db.Create(ctx, *row)
	e.kickInbox()
	return err
}

// previewReset says what a reset of a run would keep.
func (e *Engine) previewReset(ctx context.Context, row *store.Run, in core.Control) ([]ControlRecord, error) {
	answer := e.resetAnswer(row, in)
	answer.Request = ""
	cut, _, err := e.cutAt(ctx, row, in.Call)
	refusal := (*cutError)(nil)
	switch {
	case errors.As(err, &refusal):
		answer.Outcome, answer.Note = core.Refused, refusal.Error()
	case err != nil:
		return nil, err
	default:
		answer.Outcome, answer.Note = outcomeSelected, cut.String()
	}
	return []ControlRecord{answer}, nil
}
