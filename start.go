package perdure

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/option"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/tell"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/workflow"
)

// StartOption is a setting of Start, Run and StartTx. All options of package workflow for
// runs are: Priority, RetryPolicy, RunTimeout, ChainTimeout, Memo, Attributes,
// Headers, Delay.
type StartOption interface{ startOption }

type startOption = option.ForStart

// TraceParent gives the run a W3C trace parent, at most 1,000 bytes, which its attempts and
// children learn.
func TraceParent(traceparent string) StartOption {
	return option.Start(func(s *option.Settings) { s.Trace = traceparent })
}

// Ending is how a workflow has ended, for NewAfter.
type Ending int

// The endings after which a workflow ID can be used again.
const (
	// AnyEnd is every end.
	AnyEnd = Ending(request.AnyEnd)
	// Failure is every end but that with a result: the workflow failed, was canceled
	// or terminated, or timed out.
	Failure = Ending(request.Failure)
)

// NewAfter lets a workflow ID be used again: if its last run has ended so, a new run
// begins, of any workflow and with any input. Without it an ID belongs to its first start
// until that run is deleted. A run that is continued as new or retried has not ended.
//
// If the last run is open or has ended otherwise, Start attaches to it or refuses as
// without this option. Of several concurrent starts one makes the new run. A start that is
// repeated because its answer was lost may start a second run, if the first has ended
// meanwhile.
//
// From then on the workflow ID means the new run; Handle.OfRun reads the earlier ones.
func NewAfter(end Ending) StartOption {
	return option.Start(func(s *option.Settings) { s.NewAfter = int(end) })
}

// MustBeNew refuses a workflow ID that has a run already, open or closed, with a
// *view.IDInUseError instead of attaching to it; with NewAfter, an ID whose last run has
// not ended so. A start that is repeated because its answer was lost may be refused
// because of its own run.
func MustBeNew() StartOption {
	return option.Start(func(s *option.Settings) { s.MustBeNew = true })
}

// Run starts a workflow under an ID and waits for its result. If the ID has a run of this
// workflow with the same input already, for instance because it was started before a
// crash, Run attaches to it: it waits for an open run and returns the result of a closed
// one. Another workflow or input under the ID is a *view.IDInUseError.
//
// For an error of the workflow, errors.Is and errors.As hold as Handle.Result says.
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

// Start starts a workflow under an ID, at most 1,000 bytes, and returns when the run is
// durable: no crash can lose it from then on. If the ID has a run already, Start attaches
// to it as Run does. If ctx ends first, whether the run exists is not known; start again
// with the same ID. ctx bounds the call, not the run.
//
// A program that knows a workflow only by its name, and its input as JSON, starts
// workflow.Declare[json.RawMessage, json.RawMessage](name).
//
// While all slots of the process are taken, the run stands in line: its code begins when
// there is a slot for it, by priority and then age, or when a message comes for it.
//
// Where the engine runs workflows itself, the first turn of the code may be taken before the
// ID is known to be free; if it is not, nothing of that turn happens, but functions of
// workflow.SideEffect in it have run.
func Start[In, Out any](ctx context.Context, e *Engine, w workflow.Workflow[In, Out], id string, in In, options ...StartOption) (Handle[Out], error) {
	return startWith(e, w, id, in, options, func(req request.Start) (string, bool, error) {
		return e.in().StartRun(ctx, req)
	})
}

// startWith starts a workflow in one of the ways there are.
func startWith[In, Out any](e *Engine, w workflow.Workflow[In, Out], id string, in In, options []StartOption, start func(request.Start) (run string, attached bool, err error)) (Handle[Out], error) {
	req, err := startRequest(w.Name(), in, option.OfStart(options))
	if err != nil {
		return Handle[Out]{}, fmt.Errorf("perdure: start %q: %w", id, err)
	}
	req.WorkflowID = id
	run, attached, err := start(req)
	if err != nil {
		return Handle[Out]{}, fmt.Errorf("perdure: start %q: %w", id, err)
	}
	return Handle[Out]{target: tell.To(e.in(), id), engine: e, id: id, run: run, attached: attached}, nil
}

// startRequest is what the options of a start amount to.
func startRequest(workflow string, in any, s option.Settings) (request.Start, error) {
	input, err := history.Encode(in)
	if err != nil {
		return request.Start{}, fmt.Errorf("input: %w", err)
	}
	return request.Start{
		Type: workflow, Input: input, Trace: s.Trace, Settings: s.Settings, Delay: s.Delay,
		NewAfter: request.Ending(s.NewAfter), MustBeNew: s.MustBeNew, Fault: s.Fault,
	}, nil
}

// Schedule makes a schedule that starts a workflow repeatedly, or changes what it does;
// nothing changes if it does that already, so a program may call it whenever it starts.
// When it returns, the schedule is durable. Whichever process serves the group's
// workflows fires it, even if this one ends. Package ops pauses, triggers, describes and
// deletes schedules.
//
// A fire starts the workflow ID "name/nominal time", such as
// "report/2026-11-22T01:30:00Z", whose code learns the time from workflow.GetInfo. A
// nominal time is fired once. A change holds for fires to come; open runs continue. All
// mistakes in the Spec are reported together.
func Schedule[In, Out any](ctx context.Context, e *Engine, name string, w workflow.Workflow[In, Out], in In, spec schedule.Spec, options ...workflow.RunOption) error {
	req, err := startRequest(w.Name(), in, option.OfStart(options))
	if err == nil {
		err = e.in().SetSchedule(ctx, name, spec, req)
	}
	if err != nil {
		return fmt.Errorf("perdure: schedule %q: %w", name, err)
	}
	return nil
}
