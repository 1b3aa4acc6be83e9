package workflow

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/tell"
	"github.com/perdure/perdure/retry"
)

// Update is the typed handle of a request that changes a run and is answered. Make
// one per kind, at package level. Its zero value is not usable.
type Update[In, Out any] struct{ name string }

// NewUpdate declares an update. In and Out travel as JSON; they are struct{} if
// there is nothing to say.
func NewUpdate[In, Out any](name string) Update[In, Out] { return Update[In, Out]{name: name} }

// Name returns the update's name.
func (u Update[In, Out]) Name() string { return u.name }

// Call asks the latest run of a workflow ID to change, and returns the result of its
// handler, see HandleUpdate, when that is durable. It waits until ctx ends. The request
// is durable once it has reached the database. A request that comes before the run's code
// has begun, or while the code is missing, parked or paused, waits there; it is carried
// out even if its caller no longer waits. Until a run has accepted it, it goes on to the
// next run of the chain.
//
// The error is
//
//   - a *RejectedError, if the validator rejected it: nothing has changed,
//   - ErrNoHandler, if the code has no handler of that name, or has not come to where it
//     is set: nothing has changed,
//   - perdure.ErrClosed, if the workflow had ended before, and perdure.ErrNotFound if
//     there is none,
//   - perdure.ErrUpdateUnfinished, if the run ended while the handler was under way,
//   - perdure.ErrNoAnswer with that of ctx, if there was no answer in time: CallOnce with
//     a key can ask again,
//   - or that of the handler, for which errors.Is and errors.As hold as for the errors of
//     activities.
func (u Update[In, Out]) Call(ctx context.Context, to Target, in In) (Out, error) {
	return u.CallOnce(ctx, to, "", in)
}

// CallOnce is Call under an idempotency key: a call with the same key, from any process
// and even after the workflow has ended, returns the result of the first one, or waits
// for it. Another update, or another input, under the key is a *view.InputError. The key
// of an update that was rejected can be used again. A run that continues
// as new, or is retried, hands all keys of the last hour on to the next, and older ones up to
// the latest 1,000. Of more than 100,000 updates within an hour the further ones are refused
// with a *view.LimitError.
func (u Update[In, Out]) CallOnce(ctx context.Context, to Target, key string, in In) (out Out, err error) {
	input, err := tell.Encode(in)
	if err == nil {
		var result history.Payload
		if result, err = tell.Update(ctx, to, u.name, key, input); err == nil {
			err = result.Decode(&out)
		}
	}
	return out, asked("update", u.name, to, err)
}

// UpdateOption is a setting of HandleUpdate.
type UpdateOption[In any] func(*updateHandler[In])

// Validator sets what decides whether an update is accepted. It is called between
// two turns of the code, on what the last one left, and may read variables of the
// workflow. It must change nothing and cannot use the workflow context: an update
// that it rejects leaves no trace, so a replay does not know of it. Its error, or
// its panic, reaches the caller in a *RejectedError.
func Validator[In any](f func(In) error) UpdateOption[In] {
	return func(h *updateHandler[In]) { h.validate = f }
}

// HandleUpdate sets what carries an update out from here on, in place of an earlier
// handler. An update that is accepted is on record, and its handler runs in a
// coroutine of its own with the context it is given: it may do all that workflow
// code may, and wait for as long as it takes. It begins in the turn that accepts the
// update, before the code that other events of that turn wake. Its result or its
// error is the answer, on record with the turn in which it returns, and its caller
// gets it from any process. A panic of the handler, or of what it began with Go or Map,
// is such an error, a *retry.PanicError, and so is runtime.Goexit: a caller cannot stop
// the run. What the handler had done by then stays done.
//
// An update that comes before the code has first waited for something waits for
// that; handlers are best set first. Handlers that are under way when the run ends
// or continues as new are given up, and their callers told so; FinishUpdates waits
// for them. The handler of an update that is on record must stay as long as there
// are such runs, as all code. A nil handler, or a name that cannot be used, panics,
// which parks the run.
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
		if err != nil {
			return history.Payload{}, err
		}
		answer, err := history.Encode(out)
		if err != nil {
			return history.Payload{}, retry.Terminal(fmt.Errorf("the answer of update %q: %w", u.name, err))
		}
		return answer, nil
	}
	if wf.instance.updates.handlers == nil {
		wf.instance.updates.handlers = map[string]anyHandler{}
	}
	wf.instance.updates.handlers[u.name] = h
	wf.instance.run.TakeUpdates()
}

// RejectedError says that the validator of an update rejected it: nothing of it is
// on record.
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

// FinishUpdates waits until no handler of an update is under way: before the
// workflow returns, or continues as new. It must not be called by such a handler,
// which would wait for itself. Its error says that the scope was canceled.
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
		known := "none so far"
		if len(i.updates.handlers) > 0 {
			known = strings.Join(slices.Sorted(maps.Keys(i.updates.handlers)), ", ")
		}
		return fmt.Errorf("%w the update %q; it has %s", ErrNoHandler, name, known)
	}
	if v, stack := aside(func() { err = h.check(input) }); v != nil {
		err = retry.Terminal(fmt.Errorf("the validator panicked: %v\n%s", v, stack))
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
