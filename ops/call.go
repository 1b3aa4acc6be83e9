package ops

import (
	"context"
	"fmt"
	"reflect"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// Operation is an operation on open calls. RetryNow, Ask, Skip, FailNow, Pause, Resume,
// EditPolicy and ChangePolicy make one; the zero value is invalid.
type Operation struct {
	control core.Control
	err     error
}

// RetryNow starts the next attempt of a call that is in backoff, paused, quarantined or in
// doubt. The attempt starts even if all are used up or Within has passed. It is charged like
// any other, and if it fails, the policy decides: a call that is paused because it was
// exhausted pauses again unless ChangePolicy allows more. A quarantined call runs alone, and
// its crashes are forgotten; while every live node has a build on which it crashed, it is
// refused unless Force is given. A block of code in backoff (workflow.Retry) begins its next
// try. A call that is in doubt repeats the attempt, which may have had its effect already; one
// that is being asked about is asked about without further delay.
func RetryNow() Operation { return Operation{control: core.Control{Operation: core.RetryNow}} }

// Ask asks again whether the attempt that is in doubt had its effect, by the activity's Verify
// function, as if it had not been asked before, and without waiting. A call that is not in
// doubt, or has no such function, refuses.
func Ask() Operation { return Operation{control: core.Control{Operation: core.Ask}} }

// Skip completes a call with a result, as if its body had returned it. A running attempt
// is given up. A result that the workflow's code cannot decode is refused.
func Skip(result any) Operation {
	payload, err := history.EncodeArgument("result", result)
	return Operation{core.Control{Operation: core.Skip, Result: payload}, err}
}

// FailNow fails a call with an error, which the workflow's code gets like an error of the
// body. No attempt follows, and a running one is given up.
func FailNow(err error) Operation {
	return Operation{control: core.Control{Operation: core.FailNow, Failure: history.FromError(err)}}
}

// Pause makes a call wait until it is resumed. A running attempt may end; if it succeeds,
// the call is completed.
func Pause() Operation { return Operation{control: core.Control{Operation: core.PauseCall}} }

// Resume lets a paused call continue with the rest of its backoff. A call that was paused
// because it was exhausted gets one more attempt.
func Resume() Operation { return Operation{control: core.Control{Operation: core.ResumeCall}} }

// EditPolicy replaces the policy of a call, from its next decision on. Earlier decisions
// stay: a backoff under way ends at its chosen time. For a block of code that is retried
// (workflow.Retry) it applies to the next tries.
func EditPolicy(p retry.Policy) Operation {
	return Operation{control: core.Control{Operation: core.EditPolicy, Policy: &p}}
}

// ChangePolicy changes the parts of a call's policy that the text names and keeps the
// rest: [retry: 20] allows 20 retries and keeps the backoff. It applies from the next
// decision on. See retry.Policy.Edit. The resulting policy is recorded.
func ChangePolicy(text string) Operation {
	_, err := retry.Policy{}.Edit(text)
	return Operation{core.Control{Operation: core.EditPolicy, Change: text}, err}
}

// Control carries out an operation on the selected calls of the latest run of a workflow ID. It
// waits until the outcome is durable or ctx ends, and returns a record for each call whose
// Outcome is view.Applied, view.Unchanged (the call was already in that state) or view.Refused.
// With DryRun it returns the selected calls.
//
// The error is perdure.ErrNotPending if no call is selected, a *view.RefusedError if all
// of them refused, perdure.ErrClosed if the run is closed, and perdure.ErrNoAnswer with
// the error of ctx if no node serves the run in time: the request is still carried out
// later, and a call with the same RequestID returns its outcome.
func Control(ctx context.Context, e *perdure.Engine, id string, calls view.CallFilter, op Operation, options ...ControlOption) ([]view.ControlRecord, error) {
	s := unselected(options)
	in, err := op.on(calls, &s)
	if err != nil {
		return nil, err
	}
	return control(ctx, e, id, in, s.dry)
}

// ControlAll is Control for the selected calls of all runs that match the filter; if the
// filter names no status, of open ones. It works in small batches. If it returns an
// error, the result says how far it came, and a call with the same RequestID does the
// rest. To operate on exactly what a DryRun has shown, pass its selection to Selected.
func ControlAll(ctx context.Context, e *perdure.Engine, runs view.Filter, calls view.CallFilter, op Operation, options ...ControlOption) (view.BulkResult, error) {
	s := settingsOf(options)
	in, err := op.on(calls, &s)
	if err != nil {
		return view.BulkResult{}, err
	}
	return controlAll(ctx, e, runs, in, &s)
}

// on is the operation on the selected calls.
func (op Operation) on(calls view.CallFilter, s *settings) (core.Control, error) {
	in := s.control(op.control)
	in.Calls = core.Selection(calls)
	if op.err != nil {
		return in, fmt.Errorf("perdure: %s: %w", in.Operation, op.err)
	}
	return in, nil
}

func control(ctx context.Context, e *perdure.Engine, id string, in core.Control, dry bool) (records []view.ControlRecord, err error) {
	if dry {
		records, err = inside(e).Preview(ctx, id, in)
	} else {
		records, err = inside(e).Control(ctx, id, "", in)
	}
	return records, failed(err, "%s", in.Operation)
}

func controlAll(ctx context.Context, e *perdure.Engine, runs view.Filter, in core.Control, s *settings) (result view.BulkResult, err error) {
	switch {
	case s.selection != nil && s.chosen != nil:
		err = &view.InputError{What: "choice of runs", Problem: "is given beside a selection, which has that of its dry run; leave one out"}
	case s.chosen != nil && !reflect.ValueOf(runs).IsZero():
		err = &view.InputError{What: "filter", Problem: "is given beside workflow IDs; leave one out"}
	case s.chosen != nil:
		result, err = inside(e).ControlChosen(ctx, s.chosen, in, s.dry)
	case s.selection == nil:
		result, err = inside(e).ControlAll(ctx, runs, in, s.dry)
	case !reflect.ValueOf(runs).IsZero() || !reflect.ValueOf(in.Calls).IsZero():
		err = &view.InputError{What: "filter", Problem: "is given beside a selection, which has the filter of its dry run; leave one out"}
	default:
		result, err = inside(e).ControlSelected(ctx, *s.selection, in, s.dry)
	}
	return result, failed(err, "%s", in.Operation)
}

// failed says which verb failed; nil for nil.
func failed(err error, verb string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("perdure: "+verb+": %w", append(args, err)...)
}
