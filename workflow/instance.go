package workflow

import (
	"context"
	"math/rand/v2"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/internal/history"
)

// Instance is the code of one run while it is in memory. Engines drive it;
// users have no use for it. Its methods, Close and Body excepted, are called by
// one goroutine at a time.
type Instance struct {
	run       *core.Run
	scheduler *coro.Scheduler
	current   *coro.Coroutine // the one that runs, for Halt
	recording bool            // the function of a SideEffect runs
	root      *scope
	bodies    map[int64]Body // of open inline steps, by call
	receiving []*pending     // of signals, which nobody may have read yet
	random    *rand.Rand
	updates   updates
	queries   map[string]func(history.Payload) (history.Payload, error) // handlers, by name
}

// Body is an inline step ready to run.
type Body func(ctx context.Context) (history.Payload, error)

func newInstance(run *core.Run, main func(*Context) (history.Payload, error)) *Instance {
	i := &Instance{
		run:       run,
		scheduler: coro.New(),
		root:      newScope(nil),
		bodies:    map[int64]Body{},
		updates:   updates{handlers: map[string]anyHandler{}},
		queries:   map[string]func(history.Payload) (history.Payload, error){},
	}
	i.start(&Context{instance: i, scope: i.root}, func(wf *Context) {
		result, err := main(wf)
		i.end(result, err)
		wf.co.Halt() // the other coroutines end with the run
	})
	return i
}

// start runs f in a coroutine of its own, with what wf has beside its coroutine. A
// panic in what a handler of an update began is the handler's.
func (i *Instance) start(wf *Context, f func(*Context)) {
	i.scheduler.Go(func(c *coro.Coroutine) {
		i.current = c
		own := *wf
		own.co = c
		if u := own.update; u != nil {
			defer func() { u.panicked(c, recover()) }()
		}
		f(&own)
	})
}

// Advance lets the code go on until all of it waits or it ended. It returns a
// *coro.PanicError if the code panicked.
func (i *Instance) Advance() error { return i.scheduler.Run() }

// Canceled tells the code that its run was asked to cancel. What that gives up is
// commands, and these can differ from the history: so it happens in a coroutine,
// which Halt can stop, and before all others.
func (i *Instance) Canceled(reason string) {
	first := coro.New()
	first.Go(func(c *coro.Coroutine) {
		i.current = c
		i.root.cancel(i.run, &CancelError{Reason: reason})
	})
	_ = first.Run() // canceling calls no code of users
	<-first.Close()
}

// Halt stops the code for good from inside one of its coroutines.
func (i *Instance) Halt() { i.current.Halt() }

// Body returns the body of an open inline step, nil if there is none.
func (i *Instance) Body(call int64) Body { return i.bodies[call] }

// Close ends the code: its coroutines are unwound, deferred calls included. The
// channel is closed when all are gone.
func (i *Instance) Close() <-chan struct{} { return i.scheduler.Close() }
