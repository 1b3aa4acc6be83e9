package copying_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// kinds are what the open runs of the test wait for; run i is of kind i % len(kinds).
var kinds = []string{"sleeping", "backoff", "gate", "signals", "chain", "child", "queue", "stuck"}

// held is how many bodies stand still in the process that is killed.
const held = 40

// task is the input of all runs. Due is the moment before which none continues.
type task struct {
	Number int
	Due    time.Time
	Again  bool // the second run of a chain
}

func (t task) id() string { return "run-" + strconv.Itoa(t.Number) }
func (t task) kind() string {
	if kind := kinds[t.Number%len(kinds)]; kind != "stuck" || t.Number < held*len(kinds) {
		return kind
	}
	return "sleeping"
}

// stays says that the run waits for a person until it was copied back.
func (t task) stays() bool { return t.Number/len(kinds)%2 == 1 }

var (
	goOn = workflow.NewSignal[int]("go")
	note = workflow.NewSignal[int]("note")
	back = workflow.NewSignal[int]("back")

	narrow = gate.New("narrow", 3)

	flaky  = activity.Declare[task, string]("flaky")
	gated  = activity.Declare[task, string]("gated", activity.Through(narrow))
	render = activity.Declare[task, string]("render", activity.Queue("gpu"))
	stuck  = activity.Declare[task, string]("stuck")
	done   = activity.Declare[task, string]("done")

	waiting = workflow.Declare[task, string]("waiting")
	nap     = workflow.New("nap", func(wf *workflow.Context, t task) (string, error) { return "", until(wf, t.Due) })
)

func until(wf *workflow.Context, due time.Time) error {
	return workflow.Sleep(wf, due.Sub(workflow.Now(wf)))
}

func wait(wf *workflow.Context, t task) (err error) {
	switch t.kind() {
	case "sleeping":
		return until(wf, t.Due)
	case "backoff":
		_, err = workflow.Call(wf, flaky, t)
	case "gate":
		_, err = workflow.Call(wf, gated, t)
	case "signals":
		if _, err := workflow.Receive(wf, goOn); err != nil {
			return err
		}
		for i := range 3 {
			if n, err := workflow.Receive(wf, note); err != nil || n != i {
				return retry.Terminal(fmt.Errorf("signal %d came as number %d: %w", n, i, err))
			}
		}
	case "chain":
		return until(wf, t.Due)
	case "child":
		_, err = workflow.RunChild(wf, nap, t)
	case "queue":
		_, err = workflow.Call(wf, render, t)
	case "stuck":
		_, err = workflow.Call(wf, stuck, t)
	}
	return err
}

func course(wf *workflow.Context, t task) (string, error) {
	if t.kind() == "chain" && !t.Again {
		t.Again = true
		return workflow.ContinueAsNew(wf, waiting, t)
	}
	if err := wait(wf, t); err != nil {
		return "", err
	}
	if t.stays() {
		if _, err := workflow.Receive(wf, back); err != nil {
			return "", err
		}
	}
	return workflow.Call(wf, done, t)
}

// book is what happened, as lines of a file that no database knows.
type book string

func (b book) write(ctx context.Context, what string, t task) {
	f, err := os.OpenFile(string(b), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	info, _ := activity.FromContext(ctx)
	early := ""
	if time.Now().Before(t.Due) && what == "done" && slices.Contains([]string{"sleeping", "chain", "child", "backoff"}, t.kind()) {
		early = " EARLY"
	}
	fmt.Fprintf(f, "%s %d attempt %d%s\n", what, t.Number, info.Attempt, early)
	f.Close()
}

// open opens an engine. Where it is doomed, some bodies never return.
func open(ctx context.Context, db store.Opener, b book, doomed bool, options ...perdure.Option) (*perdure.Engine, error) {
	body := func(what string) activity.Func[task, string] {
		return func(ctx context.Context, t task) (string, error) {
			b.write(ctx, what, t)
			if doomed {
				<-make(chan bool)
			}
			return what, nil
		}
	}
	ends := func(ctx context.Context, t task) (string, error) { b.write(ctx, "done", t); return t.id(), nil }
	fails := func(ctx context.Context, t task) (string, error) {
		if info, _ := activity.FromContext(ctx); info.Attempt == 1 {
			return "", retry.After(errors.New("not yet"), time.Until(t.Due))
		}
		b.write(ctx, "flaky", t)
		return "", nil
	}
	return perdure.Open(ctx, db, append(options, perdure.Logger(slog.New(slog.NewTextHandler(io.Discard, nil))), perdure.Concurrency(2*held), perdure.Lease(2*time.Second),
		perdure.Register(waiting.Impl(course), nap, flaky.Impl(fails), gated.Impl(body("gated")), stuck.Impl(body("stuck")), done.Impl(ends), render.Impl(body("render"))))...)
}

// fill starts the runs, and returns when each of them waits for what it is to wait for, or
// stands in the line of started runs.
func fill(ctx context.Context, db store.Opener, b book, n int, due time.Time) error {
	e, err := open(ctx, db, b, true)
	if err != nil {
		return err
	}
	if err := e.Start(ctx); err != nil {
		return err
	}
	const callers = 64
	errs := make(chan error, callers)
	for c := range callers {
		go func() {
			var err error
			for i := c; i < n && err == nil; i += callers {
				t := task{Number: i, Due: due}
				_, err = perdure.Start(ctx, e, waiting, t.id(), t, workflow.Attributes(map[string]string{"kind": t.kind()}))
			}
			errs <- err
		}()
	}
	for range callers {
		err = errors.Join(err, <-errs)
	}
	if err != nil {
		return err
	}
	for _, begun := range []string{"gated", "stuck"} {
		for !strings.Contains(b.read(), begun) {
			time.Sleep(10 * time.Millisecond)
		}
	}
	if _, err := ops.EditGate(ctx, e, narrow.Name(), view.GateEdit{Limit: 5}, ops.By("ann"), ops.Why("it is slow")); err != nil {
		return err
	}
	if err := perdure.Schedule(ctx, e, "yearly", nap, task{}, schedule.Spec{Cron: "@yearly"}); err != nil {
		return err
	}
	if _, err := ops.PauseActivity(ctx, e, "unused", ops.By("ann"), ops.Why("a test")); err != nil {
		return err
	}
	for {
		c, err := ops.Counts(ctx, e, 0)
		if err != nil {
			return err
		}
		if each := n / len(kinds); c.Calls[view.CallBackoff] == each && c.Calls[view.CallGated] >= each-5 && c.Calls[view.CallOffered] == each {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (b book) read() string {
	text, _ := os.ReadFile(string(b))
	return string(text)
}
