package inspect

import (
	"context"
	"errors"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// shownRuns is how many runs of its chain a description shows.
const shownRuns = 20

// chain returns the last runs of a run's chain, oldest first, or nil if the run is the only
// one.
func (in *Inspector) chain(ctx context.Context, row *store.Run, start *history.Start) ([]view.ChainRun, error) {
	if start.Previous == "" && row.Status != store.Continued {
		return nil, nil
	}
	latest, err := in.db.Find(ctx, row.Partition, row.WorkflowID, "")
	if err != nil {
		return nil, err
	}
	if latest.Chain == row.Chain {
		row = latest
	}
	var runs []view.ChainRun
	for len(runs) < shownRuns {
		run, previous := chainRun(row)
		runs = append(runs, run)
		if previous == "" {
			break
		}
		row, err = in.db.Find(ctx, row.Partition, row.WorkflowID, previous)
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

// chainRun returns a run as a member of its chain, and the ID of the run before it. It
// omits what cannot be read.
func chainRun(row *store.Run) (run view.ChainRun, previous string) {
	start, _ := record.Start(row)
	detail, _ := core.DecodeDetail(row.Detail)
	run = view.ChainRun{
		Number: max(start.Number, 1), RunID: row.ID, Workflow: nameOf(row), Initiator: start.Initiator, Attempt: row.Attempt,
		Status: string(row.Status), Created: at(row.Created),
		FirstTurn: optional(start.FirstTurn), Closed: optional(row.Closed),
	}
	run.Error, run.ErrorType = told(detail.Failure)
	return run, start.Previous
}
