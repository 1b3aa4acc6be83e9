package workflow

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// instance is the code of one run while it is in memory; see seal.Instance.
type instance struct {
	run       *core.Run
	around    *around.Chain
	log       *slog.Logger // what Logger writes to, nil for slog.Default()
	logger    *slog.Logger // what Logger returned, nil before
	scheduler *coro.Scheduler
	current   *coro.Coroutine // the one that runs, for Halt
	recording bool            // the function of a SideEffect runs
	root      *scope
	bodies    map[int64]seal.Body // of open inline steps, by call
	receiving []*pending          // of signals, read or unread
	random    *rand.Rand
	updates   updates
	queries   map[string]queryHandler
}

type queryHandler func(input history.Payload) (answer history.Payload, err error)

func newInstance(run *core.Run, main func(*Context) (history.Payload, error)) *instance {
	i := &instance{
		run:       run,
		scheduler: coro.New(),
		root:      newScope(nil),
	}
	i.start(&Context{instance: i, scope: i.root}, func(wf *Context) {
		i.intercept(intercept.WorkflowStart, "")
		result, err := main(wf)
		i.end(result, err)
		wf.co.HaltOthers() // they end with the run
	})
	return i
}

// start runs f in a coroutine of its own, with what wf has beside its coroutine. A
// panic in what a handler of an update began is the handler's.
func (i *instance) start(wf *Context, f func(*Context)) {
	i.scheduler.Go(func(c *coro.Coroutine) {
		i.current = c
		own := *wf
		own.co, own.line = c, &line{in: own.frame}
		if u := own.update; u != nil {
			c.Contain(func() { f(&own) }, func(v any) { u.panicked(c, v) })
			return
		}
		f(&own)
	})
}

// aside calls f, which is no part of the run's turns, and returns what it panicked with,
// or coro.ErrGoexit, and where: nil if it returned.
func aside(f func()) (value any, stack string) {
	s := coro.New()
	s.Go(func(c *coro.Coroutine) {
		c.Contain(f, func(v any) { value, stack = v, string(debug.Stack()) })
	})
	_ = s.Run() // all is contained
	<-s.Close()
	return value, stack
}

// panicked returns the error of code that was called aside and panicked. Its text, which callers
// get, has no stack; what it wraps has.
func panicked(value any, stack string) error {
	err, _ := value.(error)
	return &panicAside{&retry.PanicError{Value: fmt.Sprint(value), Stack: stack, Err: err}}
}

type panicAside struct{ err *retry.PanicError }

func (p *panicAside) Error() string { return "panicked: " + p.err.Value }
func (p *panicAside) Unwrap() error { return p.err }

func (i *instance) Advance() error { return i.scheduler.Run() }

// CancelComes keeps what comes after the request to cancel the run, until the code gives it
// up: see Canceled.
func (i *instance) CancelComes(reason string) {
	i.root.ends(&ending{i.run.Place(), &CancelError{Reason: reason}, false})
}

// Canceled tells the code that its run was asked to cancel. What that gives up is
// commands, and these can differ from the history: so it happens in a coroutine,
// which Halt can stop, and before all others.
func (i *instance) Canceled(reason string) {
	first := coro.New()
	first.Go(func(c *coro.Coroutine) {
		i.current = c
		i.root.cancel(i.run, &CancelError{Reason: reason})
	})
	_ = first.Run() // canceling calls no code of users
	<-first.Close()
}

func (i *instance) Halt() { i.current.Halt() }

func (i *instance) Body(call int64) seal.Body { return i.bodies[call] }

func (i *instance) Close() <-chan struct{} { return i.scheduler.Close() }

// LogTo sets what Logger writes to, before the code runs.
func (i *instance) LogTo(l *slog.Logger) { i.log = l }
