package roomtest

import (
	"errors"
	"fmt"
	"iter"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Code is the code of a workflow: one coroutine that calls the commands of its Work. Its result
// or error ends the run, unless it is ErrEnded.
type Code func(w *Work) (any, error)

// ErrEnded is returned by code that has ended its run by a command, such as Continue.
var ErrEnded = errors.New("the code has ended its run itself")

// ErrLater is returned by the handler of an update that gives no answer.
var ErrLater = errors.New("the update is not answered")

// Work is a run as its code sees it.
type Work struct {
	*core.Run
	// Judge validates updates, nil for all are accepted.
	Judge func(name string, input history.Payload) error
	// Answer handles updates; a run without one takes none.
	Answer func(name string, input history.Payload) (any, error)
	// Ask answers queries, nil for none.
	Ask func(name string, input history.Payload) (any, error)
	// Canceled is set when the run was asked to cancel.
	Canceled bool

	code  Code
	yield func(struct{}) bool
	next  func() (struct{}, bool)
	stop  func()
	asked []update
	fault error
}

type update struct {
	id, name string
	input    history.Payload
}

// halted unwinds the code.
type halted struct{}

func begin(run *core.Run, code Code) *Work {
	w := &Work{Run: run, code: code}
	w.next, w.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			switch p := recover(); p.(type) {
			case nil, halted:
			default:
				w.fault = fmt.Errorf("the code panicked: %v", p)
			}
		}()
		w.yield = yield
		result, err := code(w)
		switch {
		case errors.Is(err, ErrEnded):
		case err != nil:
			w.Fail(history.FromError(err), w.Canceled, false)
		default:
			w.Complete(Payload(result))
		}
	})
	return w
}

// Payload encodes a value. It panics if that fails.
func Payload(v any) history.Payload {
	p, err := history.Encode(v)
	if err != nil {
		panic(err)
	}
	return p
}

// Option changes a call before it begins.
type Option func(*core.StartCall)

// Retry sets the policy of a call.
func Retry(p retry.Policy) Option { return func(s *core.StartCall) { s.Policy = &p } }

// In puts a call into a queue.
func In(queue string) Option { return func(s *core.StartCall) { s.Queue = queue } }

// Through makes a call pass gates, which are sorted by name.
func Through(all ...spec.Spec) Option {
	return func(s *core.StartCall) {
		for _, g := range all {
			s.Gates = append(s.Gates, history.GateSpec(g))
		}
	}
}

// Seconds is a policy of n attempts, each a second after the one before.
func Seconds(n int) Option {
	return Retry(retry.Policy{MaxAttempts: n, Backoff: retry.Fixed(1e9), Jitter: retry.NoJitter})
}

// Start begins an activity call.
func (w *Work) Start(name string, options ...Option) *core.Call {
	s := core.StartCall{Kind: history.ActivityScheduled, Name: name}
	for _, o := range options {
		o(&s)
	}
	return w.StartCall(s)
}

// Call begins an activity call and waits for its end.
func (w *Work) Call(name string, options ...Option) error { return w.Wait(w.Start(name, options...)) }

// Wait waits until all calls are done and returns the first failure.
func (w *Work) Wait(calls ...*core.Call) error {
	for _, c := range calls {
		w.Until(func() bool { return c.Done })
	}
	for _, c := range calls {
		if c.Failure != nil {
			return c.Failure.Err()
		}
	}
	return nil
}

// Until waits until something is so.
func (w *Work) Until(so func() bool) {
	for !so() {
		if !w.yield(struct{}{}) {
			panic(halted{})
		}
	}
}

// Advance implements core.Program.
func (w *Work) Advance() error {
	if w.Answer == nil { // the code sets its handlers before it waits
		w.next()
	}
	for _, u := range w.asked {
		result, err := w.Answer(u.name, u.input)
		switch {
		case errors.Is(err, ErrLater):
		case err != nil:
			w.AnswerUpdate(u.id, u.name, history.Payload{}, history.FromError(err))
		default:
			w.AnswerUpdate(u.id, u.name, Payload(result), nil)
		}
	}
	w.asked = nil
	w.next()
	return w.fault
}

// Canceled implements core.Program under another name, because the field has that one.
type program struct{ *Work }

func (p program) CancelComes(string) {}
func (p program) Canceled(string)    { p.Work.Canceled = true }

// Validate implements core.Program.
func (w *Work) Validate(name string, input history.Payload) error {
	switch {
	case w.Answer == nil:
		return &history.InputError{What: "update", Problem: "has no handler"}
	case w.Judge == nil:
		return nil
	}
	return w.Judge(name, input)
}

// Accept implements core.Program.
func (w *Work) Accept(id, name string, input history.Payload) bool {
	w.asked = append(w.asked, update{id, name, input})
	return true
}

// Unread implements core.Program. All code here has read what it received.
func (w *Work) Unread() []*core.Call { return nil }

// Halt implements core.Program.
func (w *Work) Halt() { panic(halted{}) }
