package perdure

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/bridge"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// The views of operations. All of them are plain data and have stable JSON names.
type (
	// Calls selects pending activity calls and inline steps of a run: those to
	// which all of its fields apply. The zero value selects all. Call is a number,
	// as descriptions and histories show it; Name that of an activity or step;
	// States are running, queued, external, backoff, gated, paused, quarantined;
	// ErrorType is that of the last failure, see retry.TypeName.
	Calls = view.CallFilter
	// ControlRecord is an entry of a run's audit, or of an operation's answer.
	ControlRecord = view.ControlRecord
	// BulkResult says what ControlAll or ControlRuns came to.
	BulkResult = view.BulkResult
	// SwitchRecord is an entry of the log of what was paused in a whole group.
	SwitchRecord = view.SwitchRecord
	// Paused is a call that waits until a person decides.
	Paused = view.PausedCall
	// RefusedError says that a call, or a run, is not in a state for an operation,
	// or does not accept what came with it.
	RefusedError = engine.RefusedError
)

// Errors of Control.
var (
	// ErrNotPending says that no selected call is pending: there is none, or it
	// has ended.
	ErrNotPending = engine.ErrNotPending
	// ErrNoAnswer says that an operation is durable, and that nobody carried it
	// out in the time its caller had. It will be when the run is served.
	ErrNoAnswer = engine.ErrNoAnswer
)

// OnPaused sets a function that is called when the engine itself makes a call wait
// until a person decides: because its attempts, time or budget are used up and its
// policy says retry.Pause, or because its attempts crash their processes. It is
// called on the node that serves the run, once the pause is durable, once for each
// pause; should the process die meanwhile, the next owner calls it again. It may
// block and may call the engine; if it panics, that is logged.
func OnPaused(f func(Paused)) Option { return func(s *bridge.Settings) { s.OnPaused = f } }

// Operation is something a person can do to pending calls. Make one with RetryNow,
// Skip, FailNow, Pause, Resume or EditPolicy.
type Operation struct {
	control core.Control
	err     error
}

// RetryNow starts the next attempt at once, where the call waits: in backoff,
// paused or quarantined. Nothing is charged for the wait that is cut short. The
// attempt starts although all are used up, or Within is over; if it fails, the
// policy decides as always. A quarantined call runs alone, with a clean record.
func RetryNow() Operation { return Operation{control: core.Control{Operation: core.RetryNow}} }

// Skip completes a call with a result, as if its body had returned it. An attempt
// that runs is given up. A result that the workflow's code cannot read is refused.
func Skip(result any) Operation {
	payload, err := history.Encode(result)
	return Operation{core.Control{Operation: core.Skip, Result: payload}, err}
}

// FailNow fails a call with an error: it reaches the workflow's code as it is, for
// errors.Is and errors.As as an error of the body would. No attempt follows, and
// one that runs is given up.
func FailNow(err error) Operation {
	return Operation{control: core.Control{Operation: core.FailNow, Failure: history.FromError(err)}}
}

// Pause makes a call wait until it is resumed. An attempt that runs may end, and
// if it succeeds the call is completed.
func Pause() Operation { return Operation{control: core.Control{Operation: core.PauseCall}} }

// Resume lets a paused call go on: what is left of a backoff is waited for. A call
// that was paused because it was exhausted gets one more attempt.
func Resume() Operation { return Operation{control: core.Control{Operation: core.ResumeCall}} }

// EditPolicy puts another policy in force for a call, from the next decision on:
// what was decided stays, a backoff under way ends when it was to end.
func EditPolicy(p retry.Policy) Operation {
	return Operation{control: core.Control{Operation: core.EditPolicy, Policy: &p}}
}

// ControlOption is a setting of Control, ControlAll, ControlRun and ControlRuns.
type ControlOption func(*controlSettings)

type controlSettings struct {
	core.Control
	dry bool
}

// RequestID names a request, so that asking twice is asking once, however much
// later: the answer is the same.
func RequestID(id string) ControlOption { return func(s *controlSettings) { s.ID = id } }

// By says who asks, for the audit. Without it that is the name of the node.
func By(who string) ControlOption { return func(s *controlSettings) { s.Control.By = who } }

// Why says why, for the audit.
func Why(reason string) ControlOption { return func(s *controlSettings) { s.Reason = reason } }

// DryRun does nothing but find the calls, or runs, that are selected now.
func DryRun() ControlOption { return func(s *controlSettings) { s.dry = true } }

// request is an operation with its options.
func (op Operation) request(calls Calls, options []ControlOption) (controlSettings, error) {
	s := controlSettings{Control: op.control}
	s.Calls = core.Selection(calls)
	for _, o := range options {
		o(&s)
	}
	if op.err != nil {
		return s, fmt.Errorf("perdure: %s: %w", op.control.Operation, op.err)
	}
	return s, nil
}

// Control carries an operation out on the selected calls of the latest run of a
// workflow ID, and returns what it did to each when that is durable: applied,
// unchanged (the call was that way already) or refused. With DryRun it returns the
// calls that are selected.
//
// The error is ErrNotPending if no call is, a *RefusedError if all of them refused,
// ErrClosed if the run has ended, and ErrNoAnswer with the error of ctx if nobody
// serves the run in time: the request stands then, and the same RequestID asks for
// its answer.
func (e *Engine) Control(ctx context.Context, id string, calls Calls, op Operation, options ...ControlOption) ([]ControlRecord, error) {
	s, err := op.request(calls, options)
	if err != nil {
		return nil, err
	}
	return e.control(ctx, id, s)
}

// ControlAll is Control for the selected calls of all runs that pass the filter: of
// open ones, if it names no status. It works in small batches. If it ends with an
// error, the result says how far it came, and the same RequestID does the rest.
func (e *Engine) ControlAll(ctx context.Context, runs Filter, calls Calls, op Operation, options ...ControlOption) (BulkResult, error) {
	s, err := op.request(calls, options)
	if err != nil {
		return BulkResult{}, err
	}
	return e.controlAll(ctx, runs, s)
}

// control carries a request out on the latest run of a workflow ID or on its calls,
// or says what it would be done to.
func (e *Engine) control(ctx context.Context, id string, s controlSettings) (records []ControlRecord, err error) {
	if s.dry {
		records, err = e.inner.Preview(ctx, id, s.Control)
	} else {
		records, err = e.inner.Control(ctx, id, "", s.Control)
	}
	if err != nil {
		return records, fmt.Errorf("perdure: %s: %w", s.Operation, err)
	}
	return records, nil
}

// controlAll does so for all runs that pass the filter.
func (e *Engine) controlAll(ctx context.Context, runs Filter, s controlSettings) (BulkResult, error) {
	result, err := e.inner.ControlAll(ctx, runs, s.Control, s.dry)
	if err != nil {
		return result, fmt.Errorf("perdure: %s: %w", s.Operation, err)
	}
	return result, nil
}

// PauseActivity keeps calls of an activity from starting attempts, on all nodes of
// the engine's group, until ResumeActivity: they stay where they are, and what is
// due stays queued. Their time in the queue does not count against QueueTimeout;
// Within goes on. Attempts that run may end. A call that is due asks for
// no gate meanwhile. When it returns, the pause is durable;
// other nodes hear of it within a second or so. It takes the options RequestID, By
// and Why.
func (e *Engine) PauseActivity(ctx context.Context, name string, options ...ControlOption) (SwitchRecord, error) {
	return e.switchActivity(ctx, name, true, options)
}

// ResumeActivity lets calls of a paused activity go on.
func (e *Engine) ResumeActivity(ctx context.Context, name string, options ...ControlOption) (SwitchRecord, error) {
	return e.switchActivity(ctx, name, false, options)
}

func (e *Engine) switchActivity(ctx context.Context, name string, off bool, options []ControlOption) (SwitchRecord, error) {
	verb := "resume"
	if off {
		verb = "pause"
	}
	s, err := Operation{}.request(Calls{}, options)
	if err == nil && s.dry {
		err = errors.New("there is no dry run of it")
	}
	var record SwitchRecord
	if err == nil {
		record, err = e.inner.SwitchActivity(ctx, name, off, s.ID, request.By{Who: s.Control.By, Why: s.Reason})
	}
	if err != nil {
		return record, fmt.Errorf("perdure: %s activity %q: %w", verb, name, err)
	}
	return record, nil
}

// PausedActivities returns the activities that are paused in the group, by name.
func (e *Engine) PausedActivities(ctx context.Context) ([]SwitchRecord, error) {
	return e.switches(ctx, true)
}

// Switches returns the log of what was paused and resumed in the whole group, by
// whom and why, oldest first.
func (e *Engine) Switches(ctx context.Context) ([]SwitchRecord, error) {
	return e.switches(ctx, false)
}

func (e *Engine) switches(ctx context.Context, current bool) ([]SwitchRecord, error) {
	records, err := e.inner.Switches(ctx, current)
	if err != nil {
		return nil, fmt.Errorf("perdure: switches: %w", err)
	}
	return records, nil
}

// Audit returns what was done to the latest run of a workflow ID and to its calls, by
// people and by the engine, oldest first. It is kept as long as the run.
func (e *Engine) Audit(ctx context.Context, id string, options ...ReadOption) ([]ControlRecord, error) {
	records, err := e.inner.Audit(ctx, id, runOf(options))
	if err != nil {
		return nil, fmt.Errorf("perdure: audit of %q: %w", id, err)
	}
	return records, nil
}
