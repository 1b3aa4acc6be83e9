package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// Signal is the typed handle of a signal, a message to a run. Make one per signal, at
// package level. Its zero value is not usable.
type Signal[T any] struct{ name string }

// NewSignal declares a signal. T travels as JSON.
func NewSignal[T any](name string) Signal[T] { return Signal[T]{name: name} }

// Name returns the signal's name.
func (s Signal[T]) Name() string { return s.name }

// Send sends the signal to the latest run of a workflow ID, from outside workflow code.
// When it returns, the signal is durable, and the run receives it unless it ends before
// its code does. The error is perdure.ErrNotFound if there is no run, perdure.ErrClosed
// if it has ended, and a *view.LimitError if the run has too many unread signals: see
// perdure.MaxSignalBacklog. Workflow code uses the function Send.
func (s Signal[T]) Send(ctx context.Context, to SignalTarget, value T) error {
	return s.SendOnce(ctx, to, "", value)
}

// SendOnce is Send with an idempotency key: while the run is open, sending the same key
// again sends nothing. The key must be unique among all signals to the workflow ID. A run
// that continues as new or is retried passes all keys of the last hour to the next run,
// and older ones up to the latest 10,000. After 100,000 keys within an hour the run takes
// no more signals until some are older: the error is a *view.LimitError. When the
// workflow has ended, the error is perdure.ErrClosed, even for a key that was sent.
func (s Signal[T]) SendOnce(ctx context.Context, to SignalTarget, key string, value T) error {
	payload, err := history.EncodeArgument("value", value)
	if err == nil {
		err = seal.SendSignal(ctx, to, s.name, key, payload)
	}
	if err != nil {
		return fmt.Errorf("perdure: signal %q: %w", s.name, err)
	}
	return nil
}

// Send sends a signal to the latest run of a workflow ID of the same group, on whatever
// node it runs. It is sent with the turn, exactly once, and arrives even if this run ends
// with that turn; signals from one run to another arrive in the order in which they were
// sent. Send does not wait for the arrival: a signal to a workflow that does not exist or
// has ended is dropped. The error is that the workflow ID or the value is invalid, or
// that the scope was canceled.
func Send[T any](wf *Context, workflowID string, s Signal[T], value T) error {
	wf.enter()
	if wf.over() {
		return wf.scope.aborted(s.name)
	}
	if err := errors.Join(history.CheckName("signal name", s.name), history.CheckWorkflowID(workflowID)); err != nil {
		return retry.Terminal(err)
	}
	payload, err := history.Encode(value)
	if err != nil {
		return retry.Terminal(fmt.Errorf("the value of signal %q: %w", s.name, err))
	}
	wf.instance.intercept(intercept.Send, s.name)
	wf.instance.run.Send(workflowID, s.name, payload)
	return nil
}

// Receive waits for the next signal. Signals of the same name are received in the order
// of their arrival; those that arrive before the code waits are kept. The error is that
// the scope was canceled.
func Receive[T any](wf *Context, s Signal[T]) (T, error) {
	return ReceiveAsync(wf, s).Get(wf)
}

// ReceiveAsync begins to wait for the next signal and returns immediately.
func ReceiveAsync[T any](wf *Context, s Signal[T]) Future[T] {
	wf.enter()
	if wf.over() {
		return Future[T]{refuse(s.name, wf.scope.aborted(s.name))}
	}
	if err := history.CheckName("signal name", s.name); err != nil {
		return Future[T]{refuse(s.name, retry.Terminal(err))}
	}
	wf.instance.intercept(intercept.Receive, s.name)
	p := wf.follow(wf.instance.run.AwaitSignal(s.name))
	wf.instance.receives(p)
	return Future[T]{p}
}

// receives remembers that a signal is waited for, until it was read.
func (i *instance) receives(p *pending) {
	i.receiving = append(slices.DeleteFunc(i.receiving, (*pending).settled), p)
}

// settled reports whether nothing is left of a reception that could be read.
func (p *pending) settled() bool { return p.read || p.call.Done && p.call.Failure != nil }

// Unread are the receptions whose signals came and were not read.
func (i *instance) Unread() (calls []*core.Call) {
	for _, p := range i.receiving {
		if p.call.Done && !p.settled() {
			calls = append(calls, p.call)
		}
	}
	return calls
}
