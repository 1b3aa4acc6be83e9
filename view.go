package perdure

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/view"
)

// The views of runs, calls and attempts. All of them are plain data and have
// stable JSON names.
type (
	// RunInfo is a run as listings show it.
	RunInfo = view.Run
	// Description is a run with all that can be said about where it stands.
	Description = view.Description
	// PendingCall is a call of a run that is not closed.
	PendingCall = view.Call
	// Attempt is one attempt of one call.
	Attempt = view.Attempt
	// FoundAttempt is an attempt and whose it is.
	FoundAttempt = view.FoundAttempt
	// CallAttempts sums up the attempts of one call.
	CallAttempts = view.CallAttempts
	// AttemptFilter selects attempts and calls of all runs. The zero value selects
	// all.
	AttemptFilter = view.AttemptFilter
	// ActivityStats says how the calls of one activity or step of one workflow
	// ended.
	ActivityStats = view.ActivityStats
	// ErrorStats says how often attempts of an activity or step ended with a type
	// of error, and whether their calls recovered.
	ErrorStats = view.ErrorStats
	// ChainRun is a run as one of its chain.
	ChainRun = view.ChainRun
	// Filter selects runs for List and for operations on many.
	Filter = view.Filter
	// Counts says how many runs and calls are in which state.
	Counts = view.Counts
	// Node is a process that serves workflows, or did of late.
	Node = view.Node
	// Event is an entry of a run's history.
	Event = view.Event
)

// List returns runs, newest first. The next page is that whose Filter.Before is the run
// ID of the last run: pages neither repeat nor leave out a run that was there all the
// time, whatever begins and ends meanwhile.
func (e *Engine) List(ctx context.Context, filter Filter) ([]RunInfo, error) {
	return e.inner.List(ctx, filter)
}

// Counts returns how many runs and calls are in which state.
func (e *Engine) Counts(ctx context.Context) (Counts, error) { return e.inner.Counts(ctx) }

// Nodes returns the nodes of all groups by the time they joined: those that are
// live, those that left or died of late, and those that died and still own
// partitions. The work of these goes on when another node takes it over.
func (e *Engine) Nodes(ctx context.Context) ([]Node, error) {
	nodes, err := e.inner.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("perdure: nodes: %w", err)
	}
	return nodes, nil
}

// Location says where the database is, without credentials.
func (e *Engine) Location() string { return e.inner.Info().Location }

// ReadOption says of which run something is to be read; without one it is the
// latest of the workflow ID.
type ReadOption func(*readSettings)

type readSettings struct{ run string }

// OfRun names a run by its run ID: an earlier one of a chain, say. One that does
// not belong to the workflow ID is not found.
func OfRun(runID string) ReadOption { return func(s *readSettings) { s.run = runID } }

func runOf(options []ReadOption) string {
	var s readSettings
	for _, o := range options {
		o(&s)
	}
	return s.run
}

// Describe returns where the latest run of a workflow ID stands, its pending
// calls and their retries included. It reads what is committed, so it works
// beside a running engine, without one, and for runs that have ended.
func (e *Engine) Describe(ctx context.Context, id string, options ...ReadOption) (*Description, error) {
	d, err := e.inner.Describe(ctx, id, runOf(options))
	if err != nil {
		return nil, fmt.Errorf("perdure: describe %q: %w", id, err)
	}
	return d, nil
}

// Attempts returns every attempt of every call of the latest run of a workflow
// ID that the ledger keeps: all of them, or, of a call with more than 1,100, the
// first 100 and the last 1,000. Where some are not kept, NotKept of the next one
// says how many. Calls has exact sums over all of them.
func (e *Engine) Attempts(ctx context.Context, id string, options ...ReadOption) ([]Attempt, error) {
	a, err := e.inner.Attempts(ctx, id, runOf(options), 0)
	if err != nil {
		return nil, fmt.Errorf("perdure: attempts of %q: %w", id, err)
	}
	return a, nil
}

// History returns the events of the latest run of a workflow ID, oldest first.
func (e *Engine) History(ctx context.Context, id string, options ...ReadOption) ([]Event, error) {
	events, err := e.inner.Events(ctx, id, runOf(options))
	if err != nil {
		return nil, fmt.Errorf("perdure: history of %q: %w", id, err)
	}
	return events, nil
}

// Record returns the history of the latest run of a workflow ID, open or closed,
// as one JSON document: for keeping beside the tests of its code, which
// perduretest.Replay then runs against it.
func (e *Engine) Record(ctx context.Context, id string, options ...ReadOption) ([]byte, error) {
	r, err := e.inner.Record(ctx, id, runOf(options))
	if err == nil {
		var document []byte
		if document, err = history.EncodeRecording(r); err == nil {
			return document, nil
		}
	}
	return nil, fmt.Errorf("perdure: recording of %q: %w", id, err)
}
