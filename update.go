package perdure

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// ErrUpdateUnfinished says that an update was accepted, and that its run ended, or
// was continued as new or retried, before the handler had an answer. Nobody knows
// how far the handler came, and it does not go on: the same update ID has the same
// answer for ever.
var ErrUpdateUnfinished = engine.ErrUpdateUnfinished

func init() { retry.RegisterError("perdure.ErrUpdateUnfinished", ErrUpdateUnfinished) }

// UpdateOption is a setting of Update.
type UpdateOption func(*updateSettings)

type updateSettings struct{ id string }

// UpdateID names an update, so that asking twice is asking once: whoever asks again,
// from any process and also when the workflow has ended, gets the answer of the
// first, or waits for it. Another update, or the same with another input, is refused
// under the ID with an *InputError. An update that was rejected leaves no trace, so
// its ID can be used again. The last 1,000 IDs of a chain are remembered.
func UpdateID(id string) UpdateOption { return func(s *updateSettings) { s.id = id } }

// Update asks the latest run of a workflow ID to change, and returns the answer of
// its handler (see workflow.HandleUpdate) when that is durable. It waits until ctx
// ends. The request is durable once it has reached the database: one that comes
// before the run's code has begun, or while it is missing, parked or paused, waits
// there, and is carried out whether or not somebody still waits for its answer. It
// goes on to the next run of the chain as long as no run has accepted it.
//
// The error is
//
//   - a *workflow.RejectedError, if the validator rejected it: nothing has changed,
//   - ErrNoHandler, if the code has none of that name, or has not come to where it
//     is set: nothing has changed,
//   - ErrClosed, if the workflow had ended before, and ErrNotFound if there is none,
//   - ErrUpdateUnfinished, if the run ended while the handler was under way,
//   - ErrNoAnswer with that of ctx, if there was no answer in time: the same
//     UpdateID waits for it again,
//   - or that of the handler, for which errors.Is and errors.As hold as for the
//     errors of activities.
func Update[In, Out any](ctx context.Context, e *Engine, id string, u workflow.Update[In, Out], in In, options ...UpdateOption) (out Out, err error) {
	input, err := history.Encode(in)
	if err == nil {
		err = e.update(ctx, id, u.Name(), input, &out, options)
	}
	return out, asked("update", u.Name(), id, err)
}

// UpdateJSON is Update for a program that has the update's name and its input as
// JSON; nil for none.
func (e *Engine) UpdateJSON(ctx context.Context, id, name string, input json.RawMessage, options ...UpdateOption) (out json.RawMessage, err error) {
	in, err := optionalJSON(input)
	if err == nil {
		err = e.update(ctx, id, name, in, &out, options)
	}
	return out, asked("update", name, id, err)
}

func (e *Engine) update(ctx context.Context, id, name string, input history.Payload, out any, options []UpdateOption) error {
	var s updateSettings
	for _, o := range options {
		o(&s)
	}
	answer, err := e.inner.Update(ctx, id, name, s.id, input)
	if err != nil {
		return err
	}
	return answer.Decode(out)
}
