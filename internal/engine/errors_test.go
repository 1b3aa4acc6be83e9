package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/mark"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// overdrawn is a registered type with data that wraps; it says itself what it is
// called.
type overdrawn struct {
	Cents int
	Err   error `json:"-"`
}

func (e *overdrawn) Error() string     { return fmt.Sprintf("overdrawn by %d: %v", e.Cents, e.Err) }
func (e *overdrawn) ErrorType() string { return "Overdrawn" }
func (e *overdrawn) Unwrap() error     { return e.Err }

func init() { retry.RegisterErrorType[*overdrawn]("errors_test.Overdrawn") }

// rich is an error with everything in it.
func rich() error {
	return fmt.Errorf("paying: %w", errors.Join(&overdrawn{7, errRefused}, fmt.Errorf("and %w", io.EOF), errors.New("plain")))
}

// place is where an error can reach workflow code.
type place struct {
	name   string
	policy retry.Policy
	body   activity.Func[int, int] // of the activity "pay"
	// get is how the code comes by the error; nil for a call of "pay".
	get func(wf *workflow.Context, p *place, pay activity.Activity[int, int]) error
	// meddle is what happens meanwhile, nil for nothing. It may replace the engine.
	meddle func(w *world, e *engine.Engine, restart func() *engine.Engine) *engine.Engine
	// is says what errors.Is or As must find, besides being the same everywhere.
	is func(err error) bool
}

// twice retries once, immediately.
var twice = retry.Policy{MaxAttempts: 2, Backoff: retry.None}

// fails is a body that fails with an error.
func fails(make func() error) activity.Func[int, int] {
	return func(context.Context, int) (int, error) { return 0, make() }
}

// stays is a body that ends when it is told to.
func stays(ctx context.Context, _ int) (int, error) {
	<-ctx.Done()
	return 0, fmt.Errorf("stopping: %w", context.Cause(ctx))
}

// as reports whether an error has another of type T in it for which a condition
// holds.
func as[T error](ok func(T) bool) func(error) bool {
	return func(err error) bool {
		e, is := errors.AsType[T](err)
		return is && ok(e)
	}
}

func all(conditions ...func(error) bool) func(error) bool {
	return func(err error) bool {
		for _, holds := range conditions {
			if !holds(err) {
				return false
			}
		}
		return true
	}
}

func isRich(err error) bool {
	return errors.Is(err, errRefused) && errors.Is(err, io.EOF) &&
		as(func(e *overdrawn) bool { return e.Cents == 7 && e.Err == errRefused })(err)
}

func exhaustedBy(reason retry.Reason) func(error) bool {
	return as(func(e *retry.ExhaustedError) bool { return e.Reason == reason })
}

func timedOutBy(kind retry.TimeoutKind) func(error) bool {
	return as(func(e *retry.TimeoutError) bool { return e.Kind == kind })
}

func abortedIn(phase retry.Phase) func(error) bool {
	return all(as(func(e *retry.AbortedError) bool { return e.Phase == phase }),
		func(err error) bool { return errors.Is(err, context.Canceled) })
}

// asked is the reason of a cancellation.
func asked(reason string) func(error) bool {
	return as(func(e *workflow.CancelError) bool { return e.Reason == reason })
}

// cancelAfter cancels the run a while after it began.
func cancelAfter(d time.Duration) func(*world, *engine.Engine, func() *engine.Engine) *engine.Engine {
	return func(w *world, e *engine.Engine, _ func() *engine.Engine) *engine.Engine {
		pass(d)
		if err := e.Cancel(w.t.Context(), "run", "", request.By{Why: "enough"}); err != nil {
			w.t.Error(err)
		}
		return e
	}
}

// failAfter lets a person fail the call a while after the run began.
func failAfter(d time.Duration) func(*world, *engine.Engine, func() *engine.Engine) *engine.Engine {
	return func(w *world, e *engine.Engine, _ func() *engine.Engine) *engine.Engine {
		pass(d)
		if _, err := e.Control(w.t.Context(), "run", "", core.Control{Operation: core.FailNow, By: "ann", Failure: history.FromError(rich())}); err != nil {
			w.t.Error(err)
		}
		return e
	}
}

// placeChild is a workflow that does nothing but call "pay".
var placeChild = workflow.Declare[int, int]("child")

// ofChild is the error of a child under a workflow ID.
func ofChild(id string, options ...workflow.ChildOption) func(*workflow.Context, *place, activity.Activity[int, int]) error {
	return func(wf *workflow.Context, _ *place, _ activity.Activity[int, int]) error {
		_, err := workflow.RunChild(wf, placeChild, 1, append(options, workflow.ChildID(id))...)
		return err
	}
}

// toChild does something to the child a while after it began.
func toChild(do func(e *engine.Engine, ctx context.Context, workflowID, run string, by request.By) error) func(*world, *engine.Engine, func() *engine.Engine) *engine.Engine {
	return func(w *world, e *engine.Engine, _ func() *engine.Engine) *engine.Engine {
		pass(time.Second)
		if err := do(e, w.t.Context(), "child", "", request.By{Why: "no more"}); err != nil {
			w.t.Error(err)
		}
		return e
	}
}

func childIs(status string) func(error) bool {
	return as(func(e *workflow.ChildError) bool { return e.Status == status && e.RunID != "" && e.Workflow == "child" })
}

var places = []place{
	{name: "activity, exhausted", policy: twice, body: fails(rich), is: all(exhaustedBy(retry.ReasonMaxAttempts), isRich)},
	{
		name: "activity, terminal", body: fails(func() error { return retry.Terminal(retry.After(rich(), time.Second)) }),
		is: all(retry.IsTerminal, isRich, as(func(e *mark.After) bool { return e.Delay == time.Second })),
	},
	{name: "activity, not retryable", policy: retry.Policy{NonRetryable: []string{"Overdrawn"}}, body: fails(rich), is: all(exhaustedBy(retry.ReasonNonRetryable), isRich)},
	{name: "activity, not registered", policy: retry.Never, body: fails(func() error { return &json.SyntaxError{Offset: 3} }), is: exhaustedBy(retry.ReasonMaxAttempts)},
	{
		name: "panic with an error", policy: retry.Never, body: fails(func() error { panic(rich()) }),
		is: all(isRich, as(func(e *retry.PanicError) bool { return strings.Contains(e.Stack, "errors_test.go") })),
	},
	{
		name: "panic in a later attempt", policy: twice, body: fails(func() error { var e *overdrawn; return &overdrawn{Cents: e.Cents} }),
		is: as(func(e *retry.PanicError) bool { return strings.Contains(e.Stack, "errors_test.go") }),
	},
	{name: "goexit", policy: retry.Never, body: fails(func() error { runtime.Goexit(); return nil }), is: exhaustedBy(retry.ReasonMaxAttempts)},
	{name: "its own cancellation", body: fails(func() error { return fmt.Errorf("given up: %w", context.Canceled) }), is: abortedIn(retry.PhaseExecution)},
	{
		name: "inline step", policy: twice, is: all(exhaustedBy(retry.ReasonMaxAttempts), isRich),
		get: func(wf *workflow.Context, p *place, _ activity.Activity[int, int]) error {
			_, err := workflow.Do(wf, "step", func(context.Context) (int, error) { return 0, rich() }, activity.Retry(p.policy))
			return err
		},
	},
	{
		name: "step transaction", policy: twice, is: all(exhaustedBy(retry.ReasonMaxAttempts), isRich),
		body: func(ctx context.Context, n int) (int, error) {
			return n, activity.OnCommit(ctx, func(context.Context, any) error { return rich() })
		},
	},
	{name: "attempt timeout", policy: retry.Policy{AttemptTimeout: time.Second, MaxAttempts: 2}, body: stays, is: timedOutBy(retry.TimeoutAttempt)},
	{
		name: "attempt timeout, ignored", policy: retry.Policy{AttemptTimeout: time.Second, OnTimeout: retry.StopOnTimeout},
		body: func(context.Context, int) (int, error) { time.Sleep(time.Minute); return 1, nil },
		is:   all(exhaustedBy(retry.ReasonTimeout), timedOutBy(retry.TimeoutAttempt)),
	},
	{name: "heartbeat timeout", policy: retry.Policy{HeartbeatTimeout: time.Second, MaxAttempts: 1}, body: stays, is: timedOutBy(retry.TimeoutHeartbeat)},
	{
		name: "queue timeout", policy: retry.Policy{QueueTimeout: time.Second, MaxAttempts: 2, Backoff: retry.None}, body: stays,
		is: all(exhaustedBy(retry.ReasonMaxAttempts), timedOutBy(retry.TimeoutQueue)),
		get: func(wf *workflow.Context, p *place, pay activity.Activity[int, int]) error {
			busy, stop := workflow.WithCancel(wf)
			workflow.Async(busy, pay, 0) // has the only slot
			_, err := workflow.Call(wf, pay, 1, activity.Retry(p.policy))
			stop()
			return err
		},
	},
	{
		name: "worker lost", policy: retry.Policy{Within: time.Minute}, body: stays,
		is: all(exhaustedBy(retry.ReasonWithin), as(func(e *retry.WorkerLostError) bool { return e.Losses == 1 })),
		meddle: func(w *world, e *engine.Engine, restart func() *engine.Engine) *engine.Engine {
			pass(time.Second)
			w.kill(e)
			pass(time.Hour)
			return restart()
		},
	},
	{
		name: "quarantined, failed by a person", policy: retry.Policy{CrashLimit: 1}, body: stays, is: isRich,
		meddle: func(w *world, e *engine.Engine, restart func() *engine.Engine) *engine.Engine {
			pass(time.Second)
			w.kill(e)
			return failAfter(time.Second)(w, restart(), nil)
		},
	},
	{
		name: "paused, failed by a person", policy: retry.Policy{MaxAttempts: 1, OnExhausted: retry.Pause}, body: fails(func() error { return io.ErrNoProgress }),
		is: isRich, meddle: failAfter(time.Second),
	},
	{
		name: "backing off, failed by a person", policy: retry.Policy{Backoff: retry.Fixed(time.Hour)}, body: fails(rich),
		is: isRich, meddle: failAfter(time.Second),
	},
	{
		name: "canceled while it runs", body: stays, meddle: cancelAfter(time.Second),
		is: all(abortedIn(retry.PhaseExecution), asked("enough")),
	},
	{
		name: "canceled in backoff", policy: retry.Policy{Backoff: retry.Fixed(time.Hour)}, body: fails(rich), meddle: cancelAfter(time.Second),
		is: all(abortedIn(retry.PhaseBackoff), asked("enough"), isRich),
	},
	{
		name: "in a scope that is canceled", body: stays, is: all(abortedIn(retry.PhaseExecution), asked("")),
		get: func(wf *workflow.Context, p *place, pay activity.Activity[int, int]) error {
			scope, cancel := workflow.WithCancel(wf)
			cancel()
			_, err := workflow.Call(scope, pay, 1)
			return err
		},
	},
	{
		name: "a sleep that is canceled", meddle: cancelAfter(time.Second), is: asked("enough"),
		get: func(wf *workflow.Context, _ *place, _ activity.Activity[int, int]) error {
			return workflow.Sleep(wf, time.Hour)
		},
	},
	{
		name: "timeout of a scope", body: stays, is: timedOutBy(retry.TimeoutAttempt),
		get: func(wf *workflow.Context, _ *place, pay activity.Activity[int, int]) error {
			_, err := workflow.Timeout(wf, time.Second, func(wf *workflow.Context) (int, error) { return workflow.Call(wf, pay, 1) })
			return err
		},
	},
	{
		name: "retry of a block", policy: retry.Never, body: fails(rich), is: all(exhaustedBy(retry.ReasonMaxAttempts), isRich),
		get: func(wf *workflow.Context, p *place, pay activity.Activity[int, int]) error {
			_, err := workflow.Retry(wf, twice, func(wf *workflow.Context) (int, error) {
				return workflow.Call(wf, pay, 1, activity.Retry(p.policy))
			})
			return err
		},
	},
	{
		name: "a result of another type", body: func(context.Context, int) (int, error) { return 7, nil }, is: retry.IsTerminal,
		get: func(wf *workflow.Context, _ *place, _ activity.Activity[int, int]) error {
			_, err := workflow.Call(wf, activity.Declare[int, string]("pay"), 1)
			return err
		},
	},
	{
		name: "a result that cannot be encoded", is: retry.IsTerminal,
		get: func(wf *workflow.Context, _ *place, _ activity.Activity[int, int]) error {
			_, err := workflow.Do(wf, "step", func(context.Context) (func(), error) { return func() {}, nil })
			return err
		},
	},
	{
		name: "a name that cannot be", is: as(func(e *history.InputError) bool { return e.What != "" }),
		get: func(wf *workflow.Context, _ *place, _ activity.Activity[int, int]) error {
			_, err := workflow.Do(wf, strings.Repeat("x", 1000), func(context.Context) (int, error) { return 0, nil })
			return err
		},
	},
	{name: "a child that failed", policy: twice, body: fails(rich), get: ofChild("child"), is: all(childIs("failed"), exhaustedBy(retry.ReasonMaxAttempts), isRich)},
	{
		name: "a child that was canceled", body: stays, get: ofChild("child"), is: all(childIs("canceled"), abortedIn(retry.PhaseExecution), asked("no more")),
		meddle: toChild((*engine.Engine).Cancel),
	},
	{
		name: "a child that was terminated", body: stays, get: ofChild("child"), meddle: toChild((*engine.Engine).Terminate),
		is: all(childIs("terminated"), as(func(e *workflow.ChildError) bool { return e.Reason == "no more" && e.Err == nil })),
	},
	{
		name: "a child that is canceled with its parent", body: stays, get: ofChild("child"), meddle: cancelAfter(time.Second),
		is: all(childIs("canceled"), abortedIn(retry.PhaseExecution), asked("enough")),
	},
	{
		name: "a child that timed out", body: stays, get: ofChild("child", workflow.RunTimeout(time.Second)),
		is: all(childIs("timed-out"), timedOutBy(retry.TimeoutRun)),
	},
	{
		name: "a child whose ID is taken", get: ofChild("run"), // by its parent
		is: as(func(e *workflow.ChildIDInUseError) bool {
			return e.WorkflowID == "run" && e.Status == "running" && e.RunID != ""
		}),
	},
	{
		name: "a child that was given up", body: stays, is: all(abortedIn(retry.PhaseExecution)),
		get: func(wf *workflow.Context, _ *place, _ activity.Activity[int, int]) error {
			child := workflow.RunChildAsync(wf, placeChild, 1)
			workflow.Select(wf, child, workflow.NewTimer(wf, time.Second))
			_, err := child.Get(wf)
			return err
		},
	},
	{name: "the code itself", is: isRich, get: func(*workflow.Context, *place, activity.Activity[int, int]) error { return rich() }},
}

// TestE4_ErrorsAreTheSameFromEveryPlace: what the code sees when an error reaches
// it, what it sees in each replay, on another engine too, and what a client in
// another process gets answer errors.Is and errors.As alike, with the same text,
// types, data, causes and stack.
func TestE4_ErrorsAreTheSameFromEveryPlace(t *testing.T) {
	extent.Unwatched(t, "it varies errors")
	for i := range places {
		if testing.Short() && i%4 != 0 {
			continue // the others differ in values only
		}
		t.Run(places[i].name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) { places[i].try(t, w) })
		})
	}
}

// run is the body of the activity, if the place has one.
func (p *place) run(ctx context.Context, n int) (int, error) {
	if p.body == nil {
		return 0, errors.New("nobody calls this")
	}
	return p.body(ctx, n)
}

func (p *place) try(t *testing.T, w *world) {
	var seen []error
	pay := activity.New("pay", p.run, activity.Retry(p.policy))
	flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) {
		var err error
		if p.get != nil {
			err = p.get(wf, p, pay)
		} else {
			_, err = workflow.Call(wf, pay, n)
		}
		if err != nil { // before its transaction fails, a step looks like a success, in a turn that never was
			seen = append(seen, err) //perdure:deterministic the test looks at each replay
		}
		if late := workflow.Sleep(workflow.Shield(wf), 90*time.Minute); late != nil {
			return 0, late
		}
		return 0, err
	})
	restart := func() *engine.Engine {
		c := w.config(flow, pay, placeChild.Impl(func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, pay, n) }))
		c.Concurrency = 1
		return w.startWith(c)
	}
	e := restart()
	begin(t, e, flow, "run", 1)
	if p.meddle != nil {
		e = p.meddle(w, e, restart)
	}
	pass(time.Hour)
	if len(seen) == 0 {
		t.Fatal("the error has not reached the code")
	}
	stop(t, e)
	live := len(seen)
	e = restart()
	_, near := finish[int](t, e, "run")
	stop(t, e)
	if len(seen) == live {
		t.Fatal("the code was not replayed")
	}
	_, far := finish[int](t, w.open(w.config()), "run") // of a client that lacks the code
	if !p.is(seen[0]) {
		t.Errorf("the code sees %T: %v", seen[0], seen[0])
	}
	for _, again := range seen[1:] {
		if got, want := tree(again), tree(seen[0]); got != want {
			t.Errorf("a replay sees\n%s\nand the code saw\n%s", got, want)
		}
	}
	for who, err := range map[string]error{"here": near, "in another process": far} {
		if got, want := answers(err), answers(seen[0]); got != want || !p.is(err) {
			t.Errorf("a client %s sees\n%s\nand the code saw\n%s", who, got, want)
		}
	}
}

// tree writes down all there is of an error.
func tree(err error) string {
	if err == nil {
		return "nil"
	}
	text := fmt.Sprintf("%T %q %s %s", err, err, retry.TypeName(err), fields(err))
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return text + " {" + tree(e.Unwrap()) + "}"
	case interface{ Unwrap() []error }:
		for _, c := range e.Unwrap() {
			text += "\n{" + tree(c) + "}"
		}
	}
	return text
}

// fields are the data of an error, without errors, which tree has anyway.
func fields(err error) (text string) {
	v := reflect.ValueOf(err)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return ""
	}
	for i := range v.Elem().NumField() {
		if f := v.Elem().Type().Field(i); f.IsExported() && f.Type.Kind() != reflect.Interface {
			data, _ := json.Marshal(v.Elem().Field(i).Interface())
			text += fmt.Sprintf(" %s=%s", f.Name, data)
		}
	}
	return text
}

// answers is what an error answers to those who ask about it.
func answers(err error) string {
	c := retry.Classify(err)
	text := fmt.Sprintf("%q %+v", err, c)
	for _, sentinel := range []error{errRefused, io.EOF, context.Canceled, context.DeadlineExceeded} {
		text += fmt.Sprintf("\nis %v: %t", sentinel, errors.Is(err, sentinel))
	}
	text += asText[*overdrawn](err) + asText[*retry.TimeoutError](err) + asText[*retry.PanicError](err) +
		asText[*mark.After](err) + asText[*mark.Terminal](err) + asText[*retry.AbortedError](err) +
		asText[*retry.WorkerLostError](err) + asText[*workflow.CancelError](err) + asText[*history.InputError](err) +
		asText[*workflow.ChildError](err) + asText[*workflow.ChildIDInUseError](err)
	if e, ok := errors.AsType[*retry.ExhaustedError](err); ok {
		bare := *e
		bare.Records = nil // for the code that made the call
		text += fields(&bare)
	}
	return text
}

func asText[T error](err error) string {
	e, ok := errors.AsType[T](err)
	if !ok {
		return ""
	}
	return fmt.Sprintf("\nas %T %q%s", e, e, fields(e))
}
