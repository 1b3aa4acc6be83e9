package workflow

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// Update is the typed handle of an update, a request that may change a run and returns a
// result. Make one per update, at package level. Its zero value is not usable.
type Update[In, Out any] struct{ name string }

// NewUpdate declares an update. In and Out travel as JSON; use struct{} for no input or
// no result.
func NewUpdate[In, Out any](name string) Update[In, Out] { return Update[In, Out]{name: name} }

// Name returns the update's name.
func (u Update[In, Out]) Name() string { return u.name }

// Call sends the update to the latest run of a workflow ID, and returns the result of its
// handler, see HandleUpdate, when that is durable. It waits at most until ctx ends. The
// request is durable once it is in the database. It waits there if the run's code has not
// begun, is missing, or the run is parked or paused, and it is carried out even if its
// caller no longer waits. Until a run accepts it, it moves on to the next run of the
// chain.
//
// The error is
//
//   - a *RejectedError, if the validator rejected it: nothing has changed,
//   - ErrNoHandler, if the code has no handler of that name, or has not yet reached the
//     point where it sets one: nothing has changed,
//   - perdure.ErrClosed, if the workflow had ended before, and perdure.ErrNotFound if
//     there is none,
//   - perdure.ErrUpdateUnfinished, if the run ended while the handler was running,
//   - perdure.ErrNoAnswer with the error of ctx, if ctx ended first: with CallOnce and
//     the same key a caller can ask again,
//   - or the error of the handler, for which errors.Is and errors.As hold as for the
//     errors of activities.
func (u Update[In, Out]) Call(ctx context.Context, to Target, in In) (Out, error) {
	return u.CallOnce(ctx, to, "", in)
}

// CallOnce is Call with an idempotency key: a call with the same key, from any process
// and even after the workflow has ended, returns the result of the first one, or waits
// for it. With another update or input under the same key the error is a
// *view.InputError. The key of a rejected update can be used again. A run that continues
// as new or is retried passes all keys of the last hour to the next run, and older ones
// up to the latest 1,000. After 100,000 updates within an hour, further ones return a
// *view.LimitError.
func (u Update[In, Out]) CallOnce(ctx context.Context, to Target, key string, in In) (out Out, err error) {
	input, err := encodeInput(in)
	if err == nil {
		var result history.Payload
		if result, err = seal.CallUpdate(ctx, to, u.name, key, input); err == nil {
			err = result.Decode(&out)
		}
	}
	return out, asked("update", u.name, to, err)
}

// UpdateOption is an option of HandleUpdate.
type UpdateOption[In any] func(*updateHandler[In])

// Validator sets a function that accepts an update by returning nil. It is called between
// two turns of the code and may read variables of the workflow. It must change nothing
// and cannot use the workflow context: a rejected update is not recorded, so a replay
// does not know of it. The caller gets its error, or its panic, in a *RejectedError.
func Validator[In any](f func(In) error) UpdateOption[In] {
	return func(h *updateHandler[In]) { h.validate = f }
}

// HandleUpdate sets the handler of an update, replacing an earlier one. An accepted
// update is recorded, and its handler runs in a coroutine of its own with the context it
// is given: it may do everything that workflow code may, and wait for any time. It begins
// in the turn that accepts the update, before the code that other events of that turn
// wake. Its result or error is recorded with the turn in which it returns, and the caller
// gets it in any process. A panic of the handler, or of a coroutine that it began with Go
// or Map, becomes a *retry.PanicError, and so does runtime.Goexit: a caller cannot stop
// the run. What the handler did before stays done.
//
// An update that arrives before the code first waits for something is held until then;
// set handlers first. Handlers that are running when the run ends or continues as new are
// abandoned, and their callers get perdure.ErrUpdateUnfinished; FinishUpdates waits for
// them. Like all workflow code, a handler must stay while there are runs that used it. A
// nil handler or an invalid name panics, which parks the run.
func HandleUpdate[In, Out any](wf *Context, u Update[In, Out], handler func(wf *Context, in In) (Out, error), options ...UpdateOption[In]) {
	wf.enter()
	if err := history.CheckName("update name", u.name); err != nil {
		panic(err)
	}
	if handler == nil {
		panic(fmt.Errorf("the handler of update %q is nil", u.name))
	}
	h := updateHandler[In]{name: u.name}
	for _, o := range options {
		o(&h)
	}
	h.handle = func(wf *Context, in In) (history.Payload, error) {
		out, err := handler(wf, in)
		return encoded(out, err, func(err error) error { return fmt.Errorf("the answer of update %q: %w", u.name, err) })
	}
	if wf.instance.updates.handlers == nil {
		wf.instance.updates.handlers = map[string]anyHandler{}
	}
	wf.instance.updates.handlers[u.name] = h
	wf.instance.run.TakeUpdates()
}

// RejectedError means that the validator of an update rejected it: nothing has changed,
// and nothing is recorded.
type RejectedError struct {
	Update string // its name
	Err    error  `json:"-"` // why
}

func init() { retry.RegisterErrorType[*RejectedError]("workflow.RejectedError") }

func (e *RejectedError) Error() string {
	return fmt.Sprintf("update %q was rejected: %v", e.Update, e.Err)
}

// Unwrap returns the validator's error.
func (e *RejectedError) Unwrap() error { return e.Err }

// FinishUpdates waits until no update handler is running. Call it before the workflow
// returns or continues as new. A handler must not call it, because it would wait for
// itself. The error is that the scope was canceled.
func FinishUpdates(wf *Context) error {
	wf.enter()
	u := &wf.instance.updates
	for u.underWay > 0 {
		if wf.wait(&u.waiting) != nil {
			return wf.scope.aborted("updates")
		}
	}
	return nil
}

// updates are the handlers of a run and what they are doing.
type updates struct {
	handlers map[string]anyHandler
	underWay int
	waiting  []*coro.Coroutine // for none to be under way
}

// updateHandler carries updates of one name out.
type updateHandler[In any] struct {
	name     string
	validate func(In) error // nil for none
	handle   func(*Context, In) (history.Payload, error)
}

// anyHandler is an updateHandler of whatever type.
type anyHandler interface {
	check(history.Payload) error
	run(*Context, history.Payload) (history.Payload, error)
}

func (h updateHandler[In]) decode(input history.Payload) (in In, err error) {
	if err := input.Decode(&in); err != nil {
		return in, retry.Terminal(fmt.Errorf("the input of update %q: %w", h.name, err))
	}
	return in, nil
}

func (h updateHandler[In]) check(input history.Payload) error {
	in, err := h.decode(input)
	if err == nil && h.validate != nil {
		err = h.validate(in)
	}
	return err
}

func (h updateHandler[In]) run(wf *Context, input history.Payload) (history.Payload, error) {
	in, err := h.decode(input)
	if err != nil {
		return history.Payload{}, err
	}
	return h.handle(wf, in)
}

// Validate returns why an update is not accepted, or nil.
func (i *instance) Validate(name string, input history.Payload) (err error) {
	h := i.updates.handlers[name]
	if h == nil {
		return fmt.Errorf("%w the update %q; it has %s", ErrNoHandler, name, namesOf(i.updates.handlers))
	}
	if v, stack := aside(func() { err = h.check(input) }); v != nil {
		err = retry.Terminal(fmt.Errorf("the validator %w", panicked(v, stack)))
	}
	if err != nil {
		return &RejectedError{name, err}
	}
	return nil
}

// Accept lets the handler of an update begin with the next turn of the code, false
// if there is none.
func (i *instance) Accept(id, name string, input history.Payload) bool {
	h := i.updates.handlers[name]
	if h == nil {
		return false
	}
	i.updates.underWay++
	u := &updateUnderWay{instance: i, id: id, name: name}
	i.scheduler.First(func(c *coro.Coroutine) {
		i.current = c
		c.Contain(func() {
			answer, err := h.run(&Context{instance: i, co: c, scope: i.root, update: u, line: &line{}}, input)
			i.current = c
			u.answer(answer, err)
		}, func(v any) { u.panicked(c, v) })
	})
	return true
}

// updateUnderWay is an update whose handler has begun.
type updateUnderWay struct {
	instance *instance
	id, name string
	answered bool
}

// answer ends the update; later outcomes of what the handler has begun are dropped.
func (u *updateUnderWay) answer(result history.Payload, err error) {
	if !u.answered {
		u.instance.run.AnswerUpdate(u.id, u.name, result, history.FromError(err))
		u.end()
	}
}

// panicked ends the update with the panic of a coroutine of the handler.
func (u *updateUnderWay) panicked(c *coro.Coroutine, value any) {
	if u.answered {
		return
	}
	u.instance.current = c
	err := fmt.Errorf("the handler of update %q: %w", u.name, retry.NewPanicError(value))
	u.instance.run.UpdatePanicked(u.id, u.name, history.FromError(retry.Terminal(err)))
	u.end()
}

func (u *updateUnderWay) end() {
	u.answered = true
	updates := &u.instance.updates
	if updates.underWay--; updates.underWay == 0 {
		wakeAll(&updates.waiting)
	}
}
