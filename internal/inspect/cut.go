package inspect

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/view"
)

// CutError says that no run can continue from a call.
type CutError struct{ Err error }

func (e *CutError) Error() string { return e.Err.Error() }
func (e *CutError) Unwrap() error { return e.Err }

// As makes it a *view.RefusedError for callers of a fork: the database is fine, but the run
// has no such call.
func (e *CutError) As(target any) bool {
	refused, is := target.(**view.RefusedError)
	if is {
		*refused = &view.RefusedError{Record: view.ControlRecord{Operation: history.ForkOfRun, Outcome: core.Refused, Note: e.Error()}}
	}
	return is
}

// CutAt reads the history of a run and cuts it at a call. For a damaged history it keeps
// what precedes the damage. With keys, calls that begin again keep their idempotency keys. The
// error is a *CutError if no run can continue from the call.
func (in *Inspector) CutAt(ctx context.Context, partition int, start *history.Start, call int64, keys bool) (*core.Cut, error) {
	stored, err := in.db.History(ctx, partition, start.Run, 0, 0)
	if err != nil {
		return nil, err
	}
	turns, damage := record.Turns(start, 0, stored)
	if len(damage) > 0 {
		turns = record.Before(turns, damage[0].Turn)
	}
	cut, err := core.CutAt(start, turns, call)
	if err == nil && keys {
		if err := cut.WithKeys(); err != nil {
			return nil, &CutError{err}
		}
	}
	if err == nil {
		if len(damage) > 0 {
			cut.Damage = damage[0]
		}
		return cut, nil
	}
	if len(damage) > 0 {
		last := core.LastCall(turns)
		err = fmt.Errorf("%w, and the last call before it is call %d", damage[0], last)
		if last == 0 {
			err = fmt.Errorf("%w, and no call is before it", damage[0])
		}
	}
	return nil, &CutError{err}
}
