package perdure

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/workflow"
)

// StartOption is an option of Start, Run and StartTx. The options of package workflow for
// runs are StartOptions: Priority, RetryPolicy, RunTimeout, ChainTimeout, Memo,
// Attributes, Headers, Delay.
type StartOption interface{ startOption }

type startOption = seal.ForStart

// TraceParent sets the W3C trace parent of the run, at most 1,000 bytes. Its attempts and
// children inherit it.
func TraceParent(traceparent string) StartOption {
	return seal.SetStart(func(s *seal.StartSettings) { s.Trace = traceparent })
}

// Ending is a set of ways in which a workflow can end, for NewAfter.
type Ending int

// Endings for NewAfter.
const (
	// AnyEnd is every way to end.
	AnyEnd = Ending(request.AnyEnd)
	// Failure is every way to end without a result: the workflow failed, was canceled or
	// terminated, or timed out.
	Failure = Ending(request.Failure)
)

// NewAfter allows a workflow ID to be used again: if its last run has ended in the given
// way, a new run begins, of any workflow and with any input. Without it an ID belongs to
// its first start until that run is deleted. A run that is continued as new or retried
// has not ended.
//
// If the last run is open or has ended otherwise, Start attaches to it or returns an
// error, as without this option. If its termination was acknowledged, Start waits until it
// has ended; in a transaction it returns a *view.IDInUseError instead. Of several concurrent starts one begins the new run. A
// start that is repeated because its answer was lost may start a second run, if the first
// has ended meanwhile.
//
// The workflow ID then refers to the new run; Handle.OfRun reads earlier ones.
func NewAfter(end Ending) StartOption {
	return seal.SetStart(func(s *seal.StartSettings) { s.NewAfter = int(end) })
}

// MustBeNew returns a *view.IDInUseError instead of attaching if the workflow ID already
// has a run, open or closed; with NewAfter, if its last run has not ended that way. A
// start that is repeated because its answer was lost may be refused because of its own
// run.
func MustBeNew() StartOption {
	return seal.SetStart(func(s *seal.StartSettings) { s.MustBeNew = true })
}

// AnyInput attaches to the run that the workflow ID already has whatever its input is, and
// not only if it is the same; the run keeps its own input. It is for workflows of which one
// runs at a time and whose input comes from the program's settings: otherwise changed
// settings are an error at each start of the program until the run has ended. Another
// workflow's ID stays an error. It cannot be combined with MustBeNew.
func AnyInput() StartOption {
	return seal.SetStart(func(s *seal.StartSettings) { s.AnyInput = true })
}

// Run starts a workflow under an ID and waits for its result. If the ID already has a run
// of this workflow with the same input, for instance one from before a crash, Run
// attaches to it: it waits for an open run and returns the result of a closed one. If the
// run has another workflow or input, the error is a *view.IDInUseError; see AnyInput. Inputs are compared
// as JSON values: the order of members and the spelling of numbers make no difference.
//
// Handle.Result describes the error of a workflow that did not complete.
func Run[In, Out any](ctx context.Context, e *Engine, w workflow.Workflow[In, Out], id string, in In, options ...StartOption) (Out, error) {
	h, err := startWith(e, w, id, in, options, func(req request.Start) (string, bool, error) {
		req.ForEnd = true
		return e.in().StartRun(ctx, req)
	})
	if err != nil {
		var zero Out
		return zero, err
	}
	return h.Result(ctx)
}

// Start starts a workflow under an ID of at most 1,000 bytes, and returns when the run is
// durable: no crash can lose it from then on. If the ID already has a run, Start attaches
// to it as Run does. If ctx ends first, it is unknown whether the run exists; start again
// with the same ID. ctx bounds the call, not the run.
//
// A program that knows only the workflow's name, and has the input as JSON, starts
// workflow.Declare[json.RawMessage, json.RawMessage](name).
//
// While all slots of the process are taken, the run is queued: its code begins when a
// slot is free, by priority and then age, or when a message arrives for it.
//
// An engine that runs workflows itself may run the first turn of the code before it knows
// that the ID is free. If the ID is taken, the turn is discarded, but functions of
// workflow.SideEffect in it have run.
func Start[In, Out any](ctx context.Context, e *Engine, w workflow.Workflow[In, Out], id string, in In, options ...StartOption) (Handle[Out], error) {
	return startWith(e, w, id, in, options, func(req request.Start) (string, bool, error) {
		return e.in().StartRun(ctx, req)
	})
}

// startWith starts a workflow in one of the ways there are.
func startWith[In, Out any](e *Engine, w workflow.Workflow[In, Out], id string, in In, options []StartOption, start func(request.Start) (run string, attached bool, err error)) (Handle[Out], error) {
	req, err := startRequest(w.Name(), in, seal.StartSettingsOf(options))
	if err != nil {
		return Handle[Out]{}, fmt.Errorf("perdure: start %q: %w", id, err)
	}
	req.WorkflowID = id
	run, attached, err := start(req)
	if err != nil {
		return Handle[Out]{}, fmt.Errorf("perdure: start %q: %w", id, err)
	}
	return Handle[Out]{target: seal.MessagesTo(e.in(), id), engine: e, id: id, run: run, attached: attached}, nil
}

// startRequest is what the options of a start amount to.
func startRequest(workflow string, in any, s seal.StartSettings) (request.Start, error) {
	input, err := history.EncodeArgument("input", in)
	if err != nil {
		return request.Start{}, err
	}
	return request.Start{
		Type: workflow, Input: input, Trace: s.Trace, Settings: s.Settings, Delay: s.Delay,
		NewAfter: request.Ending(s.NewAfter), MustBeNew: s.MustBeNew, AnyInput: s.AnyInput, Fault: s.Fault,
	}, nil
}

// Schedule creates or updates a schedule that starts a workflow repeatedly. It changes
// nothing if the schedule is the same already, so a program can call it whenever it
// starts. When it returns, the schedule is durable. Any process that serves the group's
// workflows fires it, even after this one has ended. Package ops pauses, triggers,
// describes and deletes schedules.
//
// Each fire starts the workflow ID "name/nominal time", such as
// "report/2026-11-22T01:30:00Z", whose code reads the time from workflow.GetInfo. A
// nominal time is fired once. A change applies to future fires; open runs continue. The
// error reports all mistakes in the Spec.
func Schedule[In, Out any](ctx context.Context, e *Engine, name string, w workflow.Workflow[In, Out], in In, spec schedule.Spec, options ...workflow.RunOption) error {
	req, err := startRequest(w.Name(), in, seal.StartSettingsOf(options))
	if err == nil {
		err = e.in().SetSchedule(ctx, name, spec, req)
	}
	if err != nil {
		return fmt.Errorf("perdure: schedule %q: %w", name, err)
	}
	return nil
}
