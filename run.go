package perdure

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// StartOption is a setting of Run and Start.
type StartOption func(*engine.StartRequest)

// TraceParent gives the run a W3C trace parent, which its attempts are told.
func TraceParent(traceparent string) StartOption {
	return func(r *engine.StartRequest) { r.Trace = traceparent }
}

// RetryPolicy lets a run that failed be tried again from its beginning, as the
// option of that name in package workflow says, which it is preferred to. It
// holds for all runs of the chain.
func RetryPolicy(p retry.Policy) StartOption {
	return func(r *engine.StartRequest) { r.Retry = &p }
}

// Delay lets the code begin only after d. The run exists at once: it can be sent
// signals and canceled before. Its Created is the time of the start.
func Delay(d time.Duration) StartOption {
	return func(r *engine.StartRequest) { r.Delay = d }
}

// RunTimeout limits how long each run of the chain may take, from when its code
// may begin: a Delay and the backoff of a RetryPolicy are no part of it. A run that
// has not ended by then is closed as timed out, whether it waits, is parked, or
// nobody serves it: its code is not asked, its attempts are given up, and what they
// still come to is dropped. It has then failed with a *retry.TimeoutError of kind
// retry.TimeoutRun, and its RetryPolicy decides whether the next run of the chain
// follows, with all its time anew, as AttemptTimeout and the policy of a call do. If it
// allows none any more, the last one ends as timed out, too, with a
// *retry.ExhaustedError, of which that *retry.TimeoutError is the cause. A
// run that continues as new is followed by one with all its time, too. 0 is no limit.
//
// A run that nobody has the code of is retried only by a policy that was given at
// the start.
func RunTimeout(d time.Duration) StartOption {
	return func(r *engine.StartRequest) { r.RunTimeout = d }
}

// ChainTimeout limits how long the runs of the chain may take together, from when
// the code of the first may begin, backoffs and all. The run that is open then is
// closed as by RunTimeout, but with the kind retry.TimeoutChain, and nothing follows.
// A failed run is not retried if the next one could only begin later: for that it
// is a Within of all of them. The Within of a RetryPolicy itself only says until when
// another attempt may begin, and counts anew when a run continues as new; it ends
// nothing that runs. 0 is no limit; one that is shorter than RunTimeout is refused.
func ChainTimeout(d time.Duration) StartOption {
	return func(r *engine.StartRequest) { r.ChainTimeout = d }
}

// Memo attaches a value, at most 16 KiB of JSON, that Describe shows with all runs
// of the chain. Nothing depends on it; attaching to a run does not change it.
func Memo(v any) StartOption {
	return func(r *engine.StartRequest) {
		var err error
		if r.Memo, err = history.Encode(v); err != nil && r.Fault == nil {
			r.Fault = fmt.Errorf("memo: %w", err)
		}
	}
}

// Attributes gives the runs of the chain names and values by which List and all that
// takes a Filter find them: {"customer": "ann", "region": "eu"}. They are at most 16;
// a name has at most 64 bytes, a value 256. Only the code of the runs changes them, with
// workflow.SetAttribute; attaching to a run does not. Asking for them several times adds
// them up.
func Attributes(all map[string]string) StartOption {
	return func(r *engine.StartRequest) {
		if r.Attributes == nil {
			r.Attributes = map[string]string{}
		}
		maps.Copy(r.Attributes, all)
	}
}

// Priority lets the activities and steps of the run, of all runs of its chain and of
// its children go before those of runs with a lower one, where they wait for each
// other: for a slot of the process (see Concurrency), and at the gates of
// activity.Through. It is between -1,000 and 1,000; zero, that of runs without one, is
// in the middle. Calls of one priority go in the order in which they came;
// activity.Priority gives a call one of its own, and workflow.ChildPriority a child.
//
// What runs is not interrupted, and priority is strict: as long as calls of a higher
// one wait, none of a lower one starts, which a QueueTimeout of a policy can bound.
// When a process starts again, it knows within a second which calls had waited, and
// goes on by their priority. Calls that were lost with a process run one at a time
// whatever their priority; among those that were there equally often, it decides.
func Priority(n int) StartOption {
	return func(r *engine.StartRequest) { r.Priority = n }
}

// Ending is how a run has ended, for NewAfter.
type Ending = engine.Ending

// The endings after which a workflow ID can be used again.
const (
	// AnyEnd is every end.
	AnyEnd = engine.AnyEnd
	// Failure is every end but that with a result: the run failed, was canceled
	// or terminated, or timed out.
	Failure = engine.Failure
)

// NewAfter lets the workflow ID be used again: if its last run has ended so, a new
// run begins, of any workflow and with any input, whatever the ones before did.
// Without it an ID belongs to its first start until that is deleted. A run that is
// continued as new or retried has not ended.
//
// If the last run is open or has ended otherwise, Start attaches to it or refuses as
// without this option. Of several that start at once one makes the new run. But one
// that is asked again because its answer was lost may start a second one, if the
// first has ended meanwhile.
//
// From then on the workflow ID means the new run; OfRun reads the earlier ones.
func NewAfter(end Ending) StartOption {
	return func(r *engine.StartRequest) { r.NewAfter = end }
}

// MustBeNew refuses a workflow ID that has a run already, ended or not, with an
// *IDInUseError instead of attaching to it; with NewAfter, one that has a run after
// which no new one is wanted. One that is asked again because its answer was lost
// may be refused on account of its own run.
func MustBeNew() StartOption {
	return func(r *engine.StartRequest) { r.MustBeNew = true }
}

// Run starts a workflow under an ID and waits for its result. If the ID has a
// run of this workflow with the same input already, because it was started
// before a crash for instance, Run attaches to it: running, it is waited for;
// ended, its result is returned. Another workflow or input under the ID is an
// *IDInUseError.
//
// An error of the workflow answers errors.Is and errors.As as Handle.Result says.
func Run[In, Out any](ctx context.Context, e *Engine, w workflow.Workflow[In, Out], id string, in In, options ...StartOption) (Out, error) {
	h, err := Start(ctx, e, w, id, in, options...)
	if err != nil {
		var zero Out
		return zero, err
	}
	return h.Result(ctx)
}

// Start starts a workflow under an ID, at most 1,000 bytes, and returns when the
// run is durable: no crash can lose it from then on. If the ID has a run already
// it attaches to that one as Run does. If ctx ends first, whether the run exists
// is not known; ask again with the same ID. ctx bounds the call, not the run.
//
// Where the engine runs workflows itself, the first turn of the code is taken
// before the ID is known to be free; if it is not, nothing of that turn happens,
// but functions of workflow.SideEffect in it have run.
func Start[In, Out any](ctx context.Context, e *Engine, w workflow.Workflow[In, Out], id string, in In, options ...StartOption) (Handle[Out], error) {
	return startWith[Out](e, w.Name(), id, in, options, func(req engine.StartRequest) (string, bool, error) {
		return e.inner.StartRun(ctx, req)
	})
}

// StartJSON is Start for a program that has the workflow's name and its input as
// JSON.
func (e *Engine) StartJSON(ctx context.Context, workflow, id string, input json.RawMessage, options ...StartOption) (Handle[json.RawMessage], error) {
	return startWith[json.RawMessage](e, workflow, id, input, options, func(req engine.StartRequest) (string, bool, error) {
		return e.inner.StartRun(ctx, req)
	})
}

// startWith starts a workflow in one of the ways there are.
func startWith[Out any](e *Engine, workflow, id string, in any, options []StartOption, start func(engine.StartRequest) (run string, attached bool, err error)) (Handle[Out], error) {
	req := engine.StartRequest{WorkflowID: id, Type: workflow}
	var err error
	if req.Input, err = history.Encode(in); err != nil {
		return Handle[Out]{}, fmt.Errorf("perdure: start %q: input: %w", id, err)
	}
	for _, o := range options {
		o(&req)
	}
	run, attached, err := start(req)
	if err != nil {
		return Handle[Out]{}, fmt.Errorf("perdure: start %q: %w", id, err)
	}
	return Handle[Out]{engine: e, id: id, run: run, attached: attached}, nil
}

// Handle is a typed reference to a run. It is a value; copies are equal.
type Handle[Out any] struct {
	engine   *Engine
	id, run  string
	attached bool
}

// Attach returns a handle to the latest run of a workflow ID, whether or not
// there is one; Result tells.
func Attach[Out any](e *Engine, id string) Handle[Out] { return Handle[Out]{engine: e, id: id} }

// ID returns the workflow ID.
func (h Handle[Out]) ID() string { return h.id }

// RunID returns the run ID, empty for a handle of Attach.
func (h Handle[Out]) RunID() string { return h.run }

// Attached reports whether Start found the run and did not make it.
func (h Handle[Out]) Attached() bool { return h.attached }

// Result waits until the run has ended, here or in another process, and returns
// its result. A run that is continued as new or retried has not ended: the result
// is that of the last run of its chain. A failed run gives a *RunError around the workflow's error, for
// which errors.Is and errors.As hold as inside the workflow, for all errors
// registered with package retry. If ctx ends first the run goes on.
func (h Handle[Out]) Result(ctx context.Context) (Out, error) {
	var out Out
	run, s, err := h.engine.inner.Outcome(ctx, h.id, h.run)
	if err != nil {
		return out, fmt.Errorf("perdure: result of %q: %w", h.id, err)
	}
	d, err := core.DecodeDetail(s.Detail)
	if err != nil {
		return out, fmt.Errorf("perdure: result of %q: %w", h.id, err)
	}
	if s.Status != core.StatusCompleted {
		return out, &RunError{WorkflowID: h.id, RunID: run, Status: string(s.Status), Reason: d.Reason, Err: d.Failure.Err()}
	}
	if d.Result != nil {
		if err := d.Result.Decode(&out); err != nil {
			return out, fmt.Errorf("perdure: result of %q: %w", h.id, err)
		}
	}
	return out, nil
}
