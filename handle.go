package perdure

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// Handle is a reference to a workflow ID whose result has the type Out. It is a value;
// copies are equal.
//
// Signals, queries and updates that are declared with package workflow have typed methods
// to send them:
//
//	err := Approved.Send(ctx, h, decision)
//	progress, err := Progress.Ask(ctx, h, struct{}{})
//	total, err := AddItem.Call(ctx, h, item)
//
// Signal, Query and Update do the same by name. All messages go to the latest run of the
// workflow ID.
type Handle[Out any] struct {
	target
	engine   *Engine
	id, run  string
	of       string // the run that is read, empty for the latest
	attached bool
}

// target lets the messages of package workflow be sent to a handle.
type target = seal.Target

// Attach returns a handle to a workflow ID. It reads nothing: methods of the handle
// return ErrNotFound if there is no run.
func Attach[Out any](e *Engine, id string) Handle[Out] {
	return Handle[Out]{target: seal.MessagesTo(e.in(), id), engine: e, id: id}
}

// Workflow returns a handle to a workflow ID whose result is raw JSON. It is Attach for
// programs that do not know the types, and reads nothing.
func (e *Engine) Workflow(id string) Handle[json.RawMessage] { return Attach[json.RawMessage](e, id) }

// OfRun returns a handle to one run of the workflow ID instead of the latest: Describe,
// History, Attempts, Calls, Audit and Record read that run, and Result waits for its
// chain. Messages still go to the latest run. An empty run ID is that of the latest.
func (h Handle[Out]) OfRun(runID string) Handle[Out] {
	h.run, h.of = runID, runID
	return h
}

// ID returns the workflow ID.
func (h Handle[Out]) ID() string { return h.id }

// RunID returns the run ID. It is empty for a handle of Attach.
func (h Handle[Out]) RunID() string { return h.run }

// Attached reports whether Start found an existing run instead of starting one.
func (h Handle[Out]) Attached() bool { return h.attached }

// Result waits until the workflow has ended, in this process or another, and returns its
// result. A run that is continued as new or retried has not ended: the result is that of
// the last run of its chain. If the workflow did not complete, the error is a *RunError
// around the error of its code; errors.Is and errors.As find errors that are registered
// with package retry, as inside the workflow. If ctx ends first, Result returns its
// error, and the workflow continues. The result of a run that ended in this process less than
// a minute ago comes from memory, even if the run was deleted since.
func (h Handle[Out]) Result(ctx context.Context) (Out, error) {
	e := h.engine.in()
	if !e.Intercepted(intercept.Result) {
		return h.result(ctx)
	}
	return request.Intercept(ctx, e.Client, intercept.Op{Kind: intercept.Result, WorkflowID: h.id, RunID: h.run}, h.result)
}

func (h Handle[Out]) result(ctx context.Context) (Out, error) {
	var out Out
	run, s, err := h.engine.in().Result(ctx, h.id, h.run)
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

// Cancel asks the workflow to end. The calls that its code waits for are canceled, and
// the code decides what to do about that. Canceling again does nothing. Cancel returns
// when the request is durable and does not wait for the run. Package ops records who
// cancels, waits for the outcome, and cancels many runs.
func (h Handle[Out]) Cancel(ctx context.Context, reason string) error {
	if err := h.engine.in().Cancel(ctx, h.id, "", request.By{Why: reason}); err != nil {
		return fmt.Errorf("perdure: cancel: %w", err)
	}
	return nil
}

// Terminate ends the workflow without running its code again. It returns when the request
// is durable.
func (h Handle[Out]) Terminate(ctx context.Context, reason string) error {
	if err := h.engine.in().Terminate(ctx, h.id, "", request.By{Why: reason}); err != nil {
		return fmt.Errorf("perdure: terminate: %w", err)
	}
	return nil
}

// Signal sends a signal by name, with a value that is encoded as JSON: see
// workflow.Signal.Send.
func (h Handle[Out]) Signal(ctx context.Context, name string, value any) error {
	return workflow.NewSignal[any](name).Send(ctx, h, value)
}

// Query sends a query by name, with an input that is encoded as JSON, and returns the
// answer as JSON: see workflow.Query.Ask.
func (h Handle[Out]) Query(ctx context.Context, name string, in any) (json.RawMessage, error) {
	return workflow.NewQuery[any, json.RawMessage](name).Ask(ctx, h, in)
}

// Update sends an update by name, with an input that is encoded as JSON, and returns the
// result as JSON: see workflow.Update.Call.
func (h Handle[Out]) Update(ctx context.Context, name string, in any) (json.RawMessage, error) {
	return workflow.NewUpdate[any, json.RawMessage](name).Call(ctx, h, in)
}

// InTx returns a target for signals inside a transaction of the caller: they are sent
// when it commits. StartTx describes the possible transactions. The run may be one that
// was started in the same transaction.
//
//	err := Approved.Send(ctx, h.InTx(tx), decision)
func (h Handle[Out]) InTx(tx any) workflow.SignalTarget {
	return seal.SignalTarget(func(ctx context.Context, name, key string, value history.Payload) error {
		return h.engine.in().SignalWithin(ctx, tx, h.id, name, key, value)
	})
}

// Describe returns the state of the run with its open calls and their retries. It reads
// committed state only, so it works beside a running engine, without one, and for closed
// runs.
func (h Handle[Out]) Describe(ctx context.Context) (*view.Description, error) {
	d, err := h.engine.in().Describe(ctx, h.id, h.of)
	return d, h.failed("describe %q", err)
}

// Overview returns the results of Describe, Attempts, Calls and Audit, and reads the
// history of the run only once.
func (h Handle[Out]) Overview(ctx context.Context) (*view.Overview, error) {
	o, err := h.engine.in().Overview(ctx, h.id, h.of)
	return o, h.failed("describe %q", err)
}

// Attempts returns the attempts of all calls of the run. Of a call with more than 1,100
// attempts the ledger keeps the first 100 and the last 1,000; NotKept of the attempt
// after the gap is the number of the missing ones. Calls has exact sums.
func (h Handle[Out]) Attempts(ctx context.Context) ([]view.Attempt, error) {
	return h.AttemptsRange(ctx, view.AttemptRange{})
}

// AttemptsRange returns a part of Attempts. Pass the place of the last attempt to read
// the next part.
func (h Handle[Out]) AttemptsRange(ctx context.Context, part view.AttemptRange) ([]view.Attempt, error) {
	attempts, err := h.engine.in().Attempts(ctx, h.id, h.of, part)
	return attempts, h.failed("attempts of %q", err)
}

// Calls returns one summary for each call of an activity or step, ordered by number: how
// many attempts there were, how they ended, and how long they ran, backed off and took in
// total. It omits calls whose first attempt has not ended.
func (h Handle[Out]) Calls(ctx context.Context) ([]view.CallAttempts, error) {
	return h.CallsRange(ctx, view.CallRange{})
}

// CallsRange returns a part of Calls. Pass the number of the last call to read the next
// part.
func (h Handle[Out]) CallsRange(ctx context.Context, part view.CallRange) ([]view.CallAttempts, error) {
	calls, err := h.engine.in().Calls(ctx, h.id, h.of, part)
	return calls, h.failed("calls of %q", err)
}

// History returns the events of the run, oldest first.
func (h Handle[Out]) History(ctx context.Context) ([]view.Event, error) {
	return h.HistoryRange(ctx, view.HistoryRange{})
}

// HistoryRange returns a part of History. Pass the place of the last event to read the
// next part.
func (h Handle[Out]) HistoryRange(ctx context.Context, part view.HistoryRange) ([]view.Event, error) {
	events, err := h.engine.in().Events(ctx, h.id, h.of, part)
	return events, h.failed("history of %q", err)
}

// Audit returns the operations of people and of the engine on the run and its calls,
// oldest first. They are kept as long as the run.
func (h Handle[Out]) Audit(ctx context.Context) ([]view.ControlRecord, error) {
	records, err := h.engine.in().Audit(ctx, h.id, h.of)
	return records, h.failed("audit of %q", err)
}

// Record returns the history of the run, open or closed, as a JSON document to keep
// beside the tests of its code: perduretest.Replay runs the code against it.
func (h Handle[Out]) Record(ctx context.Context) ([]byte, error) {
	r, err := h.engine.in().Record(ctx, h.id, h.of)
	var document []byte
	if err == nil {
		document, err = history.EncodeRecording(r)
	}
	return document, h.failed("recording of %q", err)
}

// failed says what could not be done; nil for nil.
func (h Handle[Out]) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("perdure: "+what+": %w", h.id, err)
}
