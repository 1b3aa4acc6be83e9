package workflow

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Signal is the typed handle of a kind of message that runs can be sent. Make
// one per kind, at package level. Its zero value is not usable.
type Signal[T any] struct{ name string }

// NewSignal declares a signal. T travels as JSON.
func NewSignal[T any](name string) Signal[T] { return Signal[T]{name: name} }

// Name returns the signal's name.
func (s Signal[T]) Name() string { return s.name }

// Encode makes the payload of a value. It is for engines.
func (s Signal[T]) Encode(v T) (history.Payload, error) { return history.Encode(v) }

// Receive waits for the next signal. Signals of a kind are read in the order in
// which they arrived; those that came before anybody waited are kept.
func Receive[T any](wf *Context, s Signal[T]) (T, error) {
	return ReceiveAsync(wf, s).Get(wf)
}

// ReceiveAsync begins to wait for the next signal.
func ReceiveAsync[T any](wf *Context, s Signal[T]) Future[T] {
	wf.enter()
	if wf.scope.err != nil {
		return Future[T]{refuse(s.name, wf.scope.aborted(s.name))}
	}
	if err := history.CheckName("signal name", s.name); err != nil {
		return Future[T]{refuse(s.name, retry.Terminal(err))}
	}
	return Future[T]{wf.follow(wf.instance.run.AwaitSignal(s.name))}
}
