package workflow

import (
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Future is the future result of a call. Its zero value is not usable.
type Future[T any] struct{ *pending }

// Get waits for the result. Later calls return the same.
func (f Future[T]) Get(wf *Context) (T, error) {
	wf.enter()
	var result T
	for !f.ready() {
		f.subscribe(wf.co)
		wf.park()
	}
	f.read = true
	if err := f.failure(); err != nil {
		return result, err
	}
	if err := f.value().Decode(&result); err != nil {
		return result, retry.Terminal(fmt.Errorf("the result of %q: %w", f.name(), err))
	}
	return result, nil
}

// Ready reports whether Get would return immediately.
func (f Future[T]) Ready() bool { return f.ready() }

// pending is what is common to futures of all types: a call, or why none was
// made.
type pending struct {
	instance *instance
	scope    *scope
	call     *core.Call // nil if refused
	refused  error      // why there is no call, or why its outcome came too late
	label    string
	read     bool // the code got the result
	late     bool // it is done, and came after what ends a scope, which the code has not seen
	waiting  []*coro.Coroutine
	first    [1]*coro.Coroutine // room for one who waits, which is usual
}

// follow makes the pending result of a call that was just begun.
func (wf *Context) follow(call *core.Call) *pending {
	p := &pending{instance: wf.instance, scope: wf.scope, call: call, label: call.Name}
	if call.Done {
		return p
	}
	p.scope.add(call)
	call.Follower = (*follower)(p)
	return p
}

// follower is a pending result as the machine sees it.
type follower pending

// CallDone implements core.Follower.
func (f *follower) CallDone() {
	p := (*pending)(f)
	p.scope.remove(p.call)
	delete(p.instance.bodies, p.call.Number)
	p.scope.keepIfLate(p)
	p.wake()
}

// wake wakes the coroutines that wait for the result.
func (p *pending) wake() { wakeAll(&p.waiting) }

// refuse makes a pending result that is an error already.
func refuse(name string, err error) *pending { return &pending{label: name, refused: err} }

func (p *pending) name() string { return p.label }

func (p *pending) ready() bool { return p.call == nil || p.call.Done && !p.late }

func (p *pending) subscribe(co *coro.Coroutine) {
	if p.waiting == nil {
		p.waiting = p.first[:0]
	}
	if !slices.Contains(p.waiting, co) {
		p.waiting = append(p.waiting, co)
	}
}

func (p *pending) unsubscribe(co *coro.Coroutine) {
	p.waiting = slices.DeleteFunc(p.waiting, func(w *coro.Coroutine) bool { return w == co })
}

// ending: a canceled call is done immediately or when its attempt has ended.
func (p *pending) ending() bool { return p.call == nil || p.scope.err != nil }

// abandon gives the call up and drops its outcome. An unread signal stays for the next
// wait.
func (p *pending) abandon() {
	switch {
	case !p.ready():
		p.instance.run.Cancel(p.call, true)
	case p.call != nil && !p.read:
		p.instance.run.Return(p.call)
	}
}

// since is the place at which the result was there.
func (p *pending) since() int64 {
	if p.call == nil {
		return 0 // from the beginning
	}
	return p.call.Since
}

func (p *pending) value() history.Payload {
	if p.call.Kind == history.DetachedScheduled {
		return startedRun(p.call.Child)
	}
	return p.call.Result
}

func (p *pending) failure() error {
	if p.refused != nil {
		return p.refused
	}
	err := p.call.Failure.Err()
	if p.call.Child != nil && p.call.Child.Status != "" {
		return childError(p.call, err)
	}
	if e, ok := history.GaveUp(err); ok {
		e.Records = records(p.call.Retry)
	} else if p.scope.err != nil {
		err = history.AbortedBy(err, p.scope.err)
	}
	return err
}

// records are what a retry summary still knows of the failed attempts.
func records(s *history.Summary) []retry.Record {
	if s == nil {
		return nil
	}
	out := make([]retry.Record, len(s.Errors))
	for i, e := range s.Errors {
		out[i] = retry.Record{
			Number: e.Attempt,
			End:    time.UnixMilli(e.At).UTC(),
			Err:    (&history.Failure{Type: e.Type, Message: e.Message}).Err(),
		}
	}
	return out
}
