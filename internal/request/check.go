package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/schedule"
)

// This file checks arguments. Each verb calls check before it uses the database.

// check returns the first error of the arguments, or why no request is possible.
func (c *Client) check(ctx context.Context, arguments ...error) error {
	switch {
	case c.fault != nil:
		return c.fault
	case c.ctx.Err() != nil:
		return ErrStopped
	}
	if err := history.CheckContext(ctx); err != nil {
		return err
	}
	for _, err := range arguments {
		if err != nil {
			return err
		}
	}
	return nil
}

// Check returns why no request can be made with the context: ErrStopped, or a
// *history.InputError if the context is nil.
func (c *Client) Check(ctx context.Context) error { return c.check(ctx) }

// check validates who asks and why.
func (b By) check() error {
	return cmp.Or(b.Fault, identified("request", b.Request), history.CheckText("name of who asks", b.Who, history.MaxID), history.CheckText("reason", b.Why, history.MaxReason))
}

// ofWorkflow checks the workflow ID of a run.
func ofWorkflow(id string) error { return history.CheckWorkflowID(id) }

// named checks a name, such as that of a signal.
func named(what, name string) error { return history.CheckName(what+" name", name) }

// identified checks an optional ID, such as that of a signal.
func identified(what, id string) error {
	if id == "" {
		return nil
	}
	return history.CheckID(what+" ID", id)
}

// signalID checks the optional ID of a signal.
func signalID(id string) error {
	if id == "" {
		return nil
	}
	return history.CheckSignalID(id)
}

// checkStart returns why a run cannot be started.
func (c *Client) checkStart(ctx context.Context, s *Start) error {
	return c.check(ctx, ofWorkflow(s.WorkflowID), named("workflow", s.Type), s.check(), c.lacks)
}

// check returns why a run cannot be started with these settings.
func (s *Start) check() error {
	switch {
	case s.Fault != nil:
		return s.Fault
	case s.NewAfter < NoEnd || s.NewAfter > Failure:
		return &history.InputError{What: "ending after which a new run may begin", Problem: fmt.Sprintf("is %d, which does not exist", s.NewAfter)}
	}
	if s.MustBeNew && s.AnyInput {
		return &history.InputError{What: "start option", Problem: "AnyInput says how to attach to a run, and MustBeNew that it must not be done; leave one out"}
	}
	return cmp.Or(history.CheckDelay(s.Delay), history.CheckText("trace parent", s.Trace, history.MaxID), s.Settings.Check())
}

// check returns why a run cannot be forked.
func (f *Fork) check() error {
	switch {
	case f.Fault != nil:
		return f.Fault
	case f.Call < 1:
		return noCall(f.Call)
	}
	return cmp.Or(ofWorkflow(f.NewID), f.By.check())
}

func noCall(call int64) error {
	return &history.InputError{What: fmt.Sprintf("call number %d", call), Problem: "does not exist; calls count from 1, as histories show them"}
}

// checkControl fills in the defaults of an operation and returns what every run would
// refuse.
func (c *Client) checkControl(ctx context.Context, in *core.Control) error {
	if !slices.Contains(core.CallOperations, in.Operation) && !in.Operation.OfRun() {
		return &history.InputError{What: fmt.Sprintf("operation %q", in.Operation), Problem: "does not exist"}
	}
	in.ID, in.By = cmp.Or(in.ID, ident.NewToken()), cmp.Or(in.By, c.node)
	if err := c.check(ctx, identified("request", in.ID), By{Who: in.By, Why: in.Reason, Fault: in.Fault}.check()); err != nil {
		return err
	}
	check := checkCallOperation
	if in.Operation.OfRun() {
		check = checkRunOperation
	}
	if err := check(in); err != nil {
		return err
	}
	if in.Operation == core.RetryNow && !in.Force && in.Builds == nil {
		var err error
		if in.Builds, err = c.read.Builds(ctx); err != nil {
			return err
		}
	}
	if in.Operation == core.ResetTheRun || in.Failure != nil || !in.Result.Absent() || !in.Value.Absent() {
		return c.lacks
	}
	return nil
}

func checkRunOperation(in *core.Control) error {
	switch {
	case !reflect.ValueOf(in.Calls).IsZero():
		return &history.InputError{What: string(in.Operation), Problem: "is an operation on runs and selects no calls"}
	case in.Operation == core.ResetTheRun && in.Call < 1:
		return noCall(in.Call)
	case in.Operation == core.MoveTheRun && in.From == in.To:
		return &history.InputError{What: "build", Problem: "is the same as the source build; name another one"}
	case in.Operation == core.MoveTheRun && in.From != "":
		return cmp.Or(named("build", in.From), named("build", in.To))
	case in.Operation == core.MoveTheRun:
		return named("build", in.To)
	case in.Operation == core.SignalTheRun:
		return cmp.Or(named("signal", in.Signal), signalID(in.ID))
	}
	return nil
}

// callStates are the states by which calls can be selected.
var callStates = []string{
	core.StateRunning, string(core.Queued), string(core.Offered), string(core.External), string(core.Backoff), string(core.Gated),
	string(core.Paused), string(core.Quarantined), string(core.InDoubt),
}

func checkCallOperation(in *core.Control) error {
	for _, s := range in.Calls.States {
		if !slices.Contains(callStates, s) {
			return &history.InputError{What: fmt.Sprintf("call state %q", s), Problem: "does not exist; it is one of " + strings.Join(callStates, ", ")}
		}
	}
	if err := cmp.Or(history.CheckText("call name", in.Calls.Name, history.MaxName), history.CheckText("error type", in.Calls.ErrorType, history.MaxID)); err != nil {
		return err
	}
	switch {
	case in.Calls.Call < 0:
		return &history.InputError{What: fmt.Sprintf("call number %d", in.Calls.Call), Problem: "is negative; calls count from 1"}
	case in.Operation == core.EditPolicy && in.Change != "":
		_, err := retry.Policy{}.Edit(in.Change) // only whether it parses; the run judges the result
		return err
	case in.Operation == core.EditPolicy && in.Policy == nil:
		return &history.InputError{What: "edit-policy", Problem: "comes without a policy; give one"}
	case in.Operation == core.EditPolicy:
		return in.Policy.Validate()
	case in.Operation == core.FailNow && in.Failure == nil:
		return &history.InputError{What: "fail", Problem: "comes without an error; give one"}
	}
	return nil
}

// checkSchedule returns everything that prevents a schedule from being set.
func (c *Client) checkSchedule(ctx context.Context, name string, when schedule.Spec, start *Start) error {
	if err := c.check(ctx, errors.Join(named("schedule", name), ofWorkflow(name+"/")), c.lacks); err != nil {
		return err
	}
	if err := errors.Join(named("workflow", start.Type), start.check(), when.Validate()); err != nil {
		return err
	}
	if start.Delay != 0 || start.MustBeNew || start.AnyInput || start.NewAfter != NoEnd {
		return &history.InputError{What: "start option", Problem: "is Delay, MustBeNew, AnyInput or NewAfter; the runs of a schedule begin when it says, under IDs of their own"}
	}
	return nil
}

// backfilled returns the number of nominal times between two times, both included, or why
// they cannot be backfilled.
func backfilled(times *schedule.Times, now int64, from, until time.Time) (n int, err error) {
	if !until.Before(time.Unix(0, now)) {
		return 0, &history.InputError{What: "end of the range", Problem: fmt.Sprintf("is %s, which is still to come; a schedule fires such times by itself", until.UTC().Format(time.RFC3339))}
	}
	for at := times.Next(from.Add(-1)); !at.IsZero() && !at.After(until); at = times.Next(at) {
		if n++; n > core.MaxBackfill {
			return 0, &history.InputError{What: "range", Problem: fmt.Sprintf("has more than %d times; fill a shorter one at a time", core.MaxBackfill)}
		}
	}
	if n == 0 {
		return 0, &history.InputError{What: "range", Problem: "has no time at which the schedule fires"}
	}
	return n, nil
}
