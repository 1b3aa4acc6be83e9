package workflow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// ErrNoHandler means that a run has no handler for a query or an update: its code has
// none of that name, or has not yet reached the point where it sets one.
var ErrNoHandler = errors.New("the run has no handler for")

// Query is the typed handle of a query. Make one per query, at package level. Its zero
// value is not usable.
type Query[In, Out any] struct{ name string }

// NewQuery declares a query. In and Out travel as JSON; In is struct{} if the query has
// no input.
func NewQuery[In, Out any](name string) Query[In, Out] { return Query[In, Out]{name: name} }

// Name returns the query's name.
func (q Query[In, Out]) Name() string { return q.name }

// Ask sends the query to the latest run of a workflow ID and returns the result of its
// handler, see HandleQuery. The engine that serves the run calls the handler, in any
// process and on durable state; for a closed run any engine that has its code does.
// Nothing is recorded. Asking from another process costs two small writes.
//
// Ask waits until ctx ends, or 10 s if ctx has no deadline. Then the error is
// perdure.ErrUnanswered. It is perdure.ErrNotFound if there is no run; ErrNoHandler,
// perdure.ErrNoCode or perdure.ErrParked; a *view.InputError; or the error of the
// handler, for which errors.Is and errors.As hold as for the errors of activities.
func (q Query[In, Out]) Ask(ctx context.Context, of Target, in In) (out Out, err error) {
	input, err := encodeInput(in)
	if err == nil {
		var answer history.Payload
		if answer, err = seal.AskQuery(ctx, of, q.name, input); err == nil {
			err = answer.Decode(&out)
		}
	}
	return out, asked("query", q.name, of, err)
}

// HandleQuery sets the handler of a query, replacing an earlier one. The engine calls the
// handler between two turns of the code; it reads variables of the workflow and returns
// immediately. The rules of workflow code hold for it, and it must change nothing:
// queries are not recorded, so a replay does not know of them. Using the workflow context
// in it is an error. The caller gets its error like the error of an activity; a panic
// becomes an error, too, and affects no other run.
//
// A run answers queries while its code fits its history, even after it has ended. Setting
// a handler costs nothing and is not recorded in the history, so a handler can be added
// to code that has runs. An invalid name panics, which parks the run.
func HandleQuery[In, Out any](wf *Context, q Query[In, Out], handler func(In) (Out, error)) {
	wf.enter()
	if err := history.CheckName("query name", q.name); err != nil {
		panic(err)
	}
	if handler == nil {
		panic(fmt.Errorf("the handler of query %q is nil", q.name))
	}
	if wf.instance.queries == nil {
		wf.instance.queries = map[string]queryHandler{}
	}
	wf.instance.queries[q.name] = func(input history.Payload) (history.Payload, error) {
		var in In
		if err := input.Decode(&in); err != nil {
			return history.Payload{}, retry.Terminal(fmt.Errorf("the input of query %q: %w", q.name, err))
		}
		out, err := handler(in)
		return encoded(out, err, func(err error) error { return fmt.Errorf("the answer to query %q: %w", q.name, err) })
	}
}

// Query asks the code of a run that waits, or has ended. It is for engines.
func (i *instance) Query(name string, input history.Payload) (answer history.Payload, err error) {
	handler := i.queries[name]
	if handler == nil {
		return history.Payload{}, fmt.Errorf("%w the query %q; it has %s", ErrNoHandler, name, namesOf(i.queries))
	}
	value, stack := aside(func() { answer, err = handler(input) })
	switch v := value.(type) {
	case nil:
	case error:
		if err = v; !errors.Is(err, errMisuse) {
			err = fmt.Errorf("the handler of query %q %w", name, panicked(v, stack))
		}
	default:
		err = fmt.Errorf("the handler of query %q %w", name, panicked(v, stack))
	}
	return answer, err
}

// namesOf are the queries or updates for which a run has handlers, for people.
func namesOf[H any](handlers map[string]H) string {
	if len(handlers) == 0 {
		return "none so far"
	}
	return strings.Join(slices.Sorted(maps.Keys(handlers)), ", ")
}
