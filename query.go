package perdure

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// Errors of Query.
var (
	// ErrNoHandler says that the run has no handler for the query or the update: its
	// code has none of that name, or has not come to where it is set.
	ErrNoHandler = engine.ErrNoHandler
	// ErrNoCode says that the engine that was to answer lacks the workflow's code.
	ErrNoCode = engine.ErrNoCode
	// ErrParked says that the run is parked and cannot answer until its code fits.
	ErrParked = engine.ErrParked
	// ErrUnanswered says that nobody answered in time: no engine serves the run, or
	// it is very busy.
	ErrUnanswered = engine.ErrUnanswered
)

func init() {
	retry.RegisterError("perdure.ErrNoHandler", ErrNoHandler)
	retry.RegisterError("perdure.ErrNoCode", ErrNoCode)
	retry.RegisterError("perdure.ErrParked", ErrParked)
	retry.RegisterError("perdure.ErrUnanswered", ErrUnanswered)
}

// Query asks the latest run of a workflow ID and returns the answer of its handler
// (see workflow.HandleQuery). The engine that serves the run answers, wherever it
// is, from what is durable; of a run that has ended, any engine that has its code.
// Nothing is recorded, and the run does not go on because of it. Asking from
// another process costs two small writes.
//
// It waits until ctx ends, or 10 s if ctx has no deadline. The error is
// ErrUnanswered then; ErrNotFound if there is no run; ErrNoHandler, ErrNoCode or
// ErrParked; a *InputError; or that of the handler, for which errors.Is and
// errors.As hold as for the errors of activities.
func Query[In, Out any](ctx context.Context, e *Engine, id string, q workflow.Query[In, Out], in In) (out Out, err error) {
	input, err := history.Encode(in)
	if err == nil {
		err = e.query(ctx, id, q.Name(), input, &out)
	}
	return out, asked("query", q.Name(), id, err)
}

// QueryJSON is Query for a program that has the query's name and its input as JSON;
// nil for none.
func (e *Engine) QueryJSON(ctx context.Context, id, name string, input json.RawMessage) (out json.RawMessage, err error) {
	in, err := optionalJSON(input)
	if err == nil {
		err = e.query(ctx, id, name, in, &out)
	}
	return out, asked("query", name, id, err)
}

func (e *Engine) query(ctx context.Context, id, name string, input history.Payload, out any) error {
	answer, err := e.inner.Query(ctx, id, "", name, input)
	if err != nil {
		return err
	}
	return answer.Decode(out)
}

// optionalJSON is a payload of JSON, and none for nil.
func optionalJSON(value json.RawMessage) (history.Payload, error) {
	if value == nil {
		return history.Payload{}, nil
	}
	return history.Encode(value)
}

// asked says what a query or an update that failed was.
func asked(verb, name, id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("perdure: %s %q of %q: %w", verb, name, id, err)
}
