package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// shownRuns is how many runs of a chain a description has, the last ones.
const shownRuns = 20

// chain describes the last runs of a run's chain, oldest first; none if it is
// alone.
func (e *Engine) chain(ctx context.Context, row *store.Run, start history.Start) ([]ChainRun, error) {
	if start.Previous == "" && row.Status != store.Continued {
		return nil, nil
	}
	latest, err := e.db.Find(ctx, row.Partition, row.WorkflowID, "")
	if err != nil {
		return nil, err
	}
	if latest.Chain == row.Chain {
		row = latest
	}
	var runs []ChainRun
	for len(runs) < shownRuns {
		run, previous, err := viewChainRun(row)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
		if previous == "" {
			break
		}
		row, err = e.db.Find(ctx, row.Partition, row.WorkflowID, previous)
		if errors.Is(err, store.ErrNotFound) {
			break // deleted
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Reverse(runs)
	return runs, nil
}

func viewChainRun(row *store.Run) (run ChainRun, previous string, err error) {
	start, err := history.DecodeStart(row.Start)
	if err != nil {
		return run, "", err
	}
	detail, err := core.DecodeDetail(row.Detail)
	if err != nil {
		return run, "", err
	}
	run = ChainRun{
		Number: max(start.Number, 1), RunID: row.ID, Workflow: row.Type, Initiator: start.Initiator, Attempt: row.Attempt,
		Status: string(row.Status), Created: time.Unix(0, row.Created).UTC(),
		FirstTurn: optionalTime(start.FirstTurn), Closed: optionalTime(row.Closed),
	}
	if detail.Failure != nil {
		run.Error, run.ErrorType = detail.Failure.Message, detail.Failure.TypeName()
	}
	return run, start.Previous, nil
}
