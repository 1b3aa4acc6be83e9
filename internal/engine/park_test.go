package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/workflow"
)

// The recorded run that TestE41 confronts with other code: two activities, a
// side effect, a race with a timer, an inline step, a signal, a coroutine, and a
// wait during which the code is exchanged.
var (
	reserve = activity.New("reserve", func(_ context.Context, n int) (int, error) { return n + 1, nil })
	charge  = activity.New("charge", func(_ context.Context, n int) (int, error) { return n * 2, nil })
	slow    = activity.New("slow", func(ctx context.Context, _ int) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
	notify  = activity.New("notify", func(context.Context, string) (string, error) { return "notified", nil })
	proceed = workflow.NewSignal[string]("proceed")
)

// recipe is the code of the workflow, with places where it can be another one.
type recipe struct {
	first    activity.Activity[int, int] // reserve
	second   activity.Activity[int, int] // charge
	input    int                         // of the second, added to what it is
	before   func(wf *workflow.Context)  // the first call
	between  func(wf *workflow.Context)  // the two calls
	inline   bool                        // the second is an inline step
	noEffect bool                        // there is no side effect
	effect   string                      // name of the side effect
	timer    func(wf *workflow.Context) workflow.Timer
	keep     bool // the loser of the race is kept
	step     string
	signal   workflow.Signal[string]
	early    bool // it ends before the signal
	fails    bool // ... with an error
	reversed bool // the coroutines start in the other order
	delay    time.Duration
}

func recorded() recipe {
	return recipe{
		first: reserve, second: charge, effect: "draw", step: "pack", signal: proceed,
		before: func(*workflow.Context) {}, between: func(*workflow.Context) {},
		timer: func(wf *workflow.Context) workflow.Timer { return workflow.NewTimer(wf, time.Minute) },
		delay: time.Hour,
	}
}

func (c recipe) workflow(version string) workflow.Workflow[int, string] {
	return workflow.New("order", c.run, workflow.Version(version))
}

func (c recipe) run(wf *workflow.Context, n int) (string, error) {
	c.before(wf)
	a, err := workflow.Call(wf, c.first, n)
	if err != nil {
		return "", err
	}
	c.between(wf)
	b := 0
	if c.inline {
		b, err = workflow.Do(wf, c.second.Name(), func(context.Context) (int, error) { return (a + c.input) * 2, nil })
	} else {
		b, err = workflow.Call(wf, c.second, a+c.input)
	}
	if err != nil {
		return "", err
	}
	drawn := 0
	if !c.noEffect {
		drawn = workflow.SideEffect(wf, c.effect, func() int { return 4 })
	}
	late := workflow.Async(wf, slow, 0)
	if c.keep {
		workflow.WaitAny(wf, late, c.timer(wf))
	} else {
		workflow.Select(wf, late, c.timer(wf))
	}
	packed, err := workflow.Do(wf, c.step, func(context.Context) (string, error) { return "packed", nil })
	if err != nil {
		return "", err
	}
	if c.early {
		if c.fails {
			return "", errors.New("no")
		}
		return "done", nil
	}
	names := []string{"left", "right"}
	if c.reversed {
		names[0], names[1] = names[1], names[0]
	}
	for _, name := range names {
		workflow.Go(wf, func(wf *workflow.Context) { _, _ = workflow.Call(wf, notify, name) })
	}
	word, err := workflow.Receive(wf, c.signal)
	if err != nil {
		return "", err
	}
	if err := workflow.Sleep(wf, c.delay); err != nil {
		return "", err
	}
	return fmt.Sprint(a, " ", b, " ", drawn, " ", packed, " ", word), nil
}

const orderResult = "8 16 4 packed go"

// TestE41_DifferencesPark confronts the recorded run with code that differs from
// it in one way each. It is parked with the first difference, not failed and not
// tried again by the same code; with the old code it goes on.
func TestE41_DifferencesPark(t *testing.T) {
	extent.Unwatched(t, "it varies the code of workflows")
	call := func(a activity.Activity[int, int], in int) func(*workflow.Context) {
		return func(wf *workflow.Context) { _, _ = workflow.Call(wf, a, in) }
	}
	for _, test := range []struct {
		name   string
		change func(c *recipe)
		want   string // of the reason, after "the code does not fit the history: "
	}{
		{"renamed activity", func(c *recipe) { c.first = charge },
			`turn 1, command 1: history has ActivityScheduled "reserve", the code asks for ActivityScheduled "charge" (the name differs)`},
		{"reordered activities", func(c *recipe) { c.first, c.second = charge, reserve },
			`turn 1, command 1: history has ActivityScheduled "reserve", the code asks for ActivityScheduled "charge" (the name differs)`},
		{"added activity at the start", func(c *recipe) { c.before = call(charge, 1) },
			`turn 1, command 1: history has ActivityScheduled "reserve", the code asks for ActivityScheduled "charge" (the name differs)`},
		{"added activity between", func(c *recipe) { c.between = call(reserve, 8) },
			`turn 2, command 1: history has ActivityScheduled "charge", the code asks for ActivityScheduled "reserve" (the name differs)`},
		{"changed input", func(c *recipe) { c.input = 1 },
			`turn 2, command 1: history has ActivityScheduled "charge" with input 8, the code asks for ActivityScheduled "charge" with input 9 (the input differs)`},
		{"activity became inline step", func(c *recipe) { c.inline = true },
			`turn 2, command 1: history has ActivityScheduled "charge", the code asks for StepScheduled "charge"`},
		{"added sleep", func(c *recipe) { c.between = func(wf *workflow.Context) { _ = workflow.Sleep(wf, time.Second) } },
			`turn 2, command 1: history has ActivityScheduled "charge", the code asks for TimerStarted "sleep"`},
		{"removed side effect", func(c *recipe) { c.noEffect = true },
			`turn 3, command 1: history has SideEffectRecorded "draw", the code asks for ActivityScheduled "slow"`},
		{"renamed side effect", func(c *recipe) { c.effect = "dice" },
			`turn 3, command 1: history has SideEffectRecorded "draw", the code asks for SideEffectRecorded "dice" (the name differs)`},
		{"timer became an activity", func(c *recipe) {
			c.timer = func(wf *workflow.Context) workflow.Timer {
				_ = workflow.Async(wf, slow, 1)
				return workflow.NewTimer(wf, time.Minute)
			}
		},
			`turn 3, command 3: history has TimerStarted "timer", the code asks for ActivityScheduled "slow"`},
		{"loser of a race no longer given up", func(c *recipe) { c.keep = true },
			`turn 4, command 1: history has CallCancelRequested of call 4, the code asks for StepScheduled "pack"`},
		{"renamed inline step", func(c *recipe) { c.step = "wrap" },
			`turn 4, command 2: history has StepScheduled "pack", the code asks for StepScheduled "wrap" (the name differs)`},
		{"ends earlier", func(c *recipe) { c.early = true },
			`turn 5, command 1: history has SignalAwaited "proceed", the code asks for RunCompleted`},
		{"fails earlier", func(c *recipe) { c.early, c.fails = true, true },
			`turn 5, command 1: history has SignalAwaited "proceed", the code asks for RunFailed with Error: no`},
		{"another signal", func(c *recipe) { c.signal = workflow.NewSignal[string]("continue") },
			`turn 5, command 1: history has SignalAwaited "proceed", the code asks for SignalAwaited "continue" (the name differs)`},
		{"coroutines in another order", func(c *recipe) { c.reversed = true },
			`turn 5, command 2: history has ActivityScheduled "notify" with input "left", the code asks for ActivityScheduled "notify" with input "right" (the input differs)`},
		{"waits for nothing durable where the history goes on", func(c *recipe) {
			c.between = func(wf *workflow.Context) { _, _ = workflow.NewChannel[int](wf, 0).Receive(wf) }
		},
			`turn 2, command 1: history has ActivityScheduled "charge", the code asks for nothing more`},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				old := recorded().workflow("1")
				w.startRecorded(old)

				changed := recorded()
				test.change(&changed)
				e := w.start(changed.workflow("2"), reserve, charge, slow, notify)
				signal(t, e, "order", proceed.Name(), "", "go") // and so there is something to do
				settle()
				d := describe(t, e, "order")
				if want := "the code does not fit the history: " + test.want + " " + see.Misfit; d.Status != "parked" || d.Reason != want {
					t.Errorf("%s: %s\nwant parked: %s", d.Status, d.Reason, want)
				}
				if d.Mismatch == nil || !strings.HasPrefix(test.want, fmt.Sprintf("turn %d, command %d:", d.Mismatch.Turn, d.Mismatch.Command)) {
					t.Errorf("the mismatch is %+v", d.Mismatch)
				}
				stop(t, e)

				e = w.start(old, reserve, charge, slow, notify)
				settle()
				if d := describe(t, e, "order"); d.Status != "running" || d.Mismatch != nil || d.Reason != "" {
					t.Errorf("with the old code it is %s: %s", d.Status, d.Reason)
				}
				if got, err := finish[string](t, e, "order"); got != orderResult || err != nil {
					t.Errorf("with the old code: %q, %v", got, err)
				}
			})
		})
	}
}

// startRecorded records the run up to the wait for the signal, and kills the
// engine.
func (w *world) startRecorded(old workflow.Workflow[int, string]) {
	w.t.Helper()
	e := w.start(old, reserve, charge, slow, notify)
	begin(w.t, e, old, "order", 7)
	pass(2 * time.Minute)
	w.kill(e)
}

// TestE41_CompatibleChanges: other delays and other policies fit the history;
// what was recorded stays.
func TestE41_CompatibleChanges(t *testing.T) {
	extent.Unwatched(t, "it varies the code of workflows")
	for name, change := range map[string]func(c *recipe){
		"another delay of a timer that fired": func(c *recipe) {
			c.timer = func(wf *workflow.Context) workflow.Timer { return workflow.NewTimer(wf, time.Hour) }
		},
		"another delay to come": func(c *recipe) { c.delay = 2 * time.Hour },
		"code without commands": func(c *recipe) {
			c.between = func(wf *workflow.Context) { _ = workflow.Now(wf); workflow.Go(wf, func(*workflow.Context) {}) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				w.startRecorded(recorded().workflow("1"))
				changed := recorded()
				change(&changed)
				e := w.start(changed.workflow("2"), reserve, charge, slow, notify)
				signal(t, e, "order", proceed.Name(), "", "go")
				began := time.Now()
				if got, err := finish[string](t, e, "order"); got != orderResult || err != nil {
					t.Errorf("%q, %v", got, err)
				}
				if took := time.Since(began); took != changed.delay {
					t.Errorf("it took %s, want the new delay of %s", took, changed.delay)
				}
			})
		})
	}
}

// TestE41_TimersKeepTheirDueTime: a timer that was started keeps the time that
// was recorded, whatever the code says now.
func TestE41_TimersKeepTheirDueTime(t *testing.T) {
	needsClocks.inBothModes(t, func(t *testing.T, w *world) {
		nap := func(d time.Duration) workflow.Workflow[int, int] {
			return workflow.New("nap", func(wf *workflow.Context, _ int) (int, error) { return 1, workflow.Sleep(wf, d) })
		}
		e := w.start(nap(time.Hour))
		began := time.Now()
		begin(t, e, nap(time.Hour), "nap", 0)
		pass(time.Minute)
		w.kill(e)
		e = w.start(nap(time.Second))
		finish[int](t, e, "nap")
		if took := time.Since(began); took != time.Hour {
			t.Errorf("it took %s, want the recorded hour", took)
		}
	})
}

// TestE41_NoLoop: code that does not fit is tried once per fingerprint, not
// whenever something happens to the run; and what happens to it is recorded and
// reaches the code that fits.
func TestE41_NoLoop(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		w.startRecorded(recorded().workflow("1"))
		var tried atomic.Int64
		wrong := recorded()
		wrong.before = func(wf *workflow.Context) {
			tried.Add(1)
			_ = workflow.Sleep(wf, time.Second)
		}
		e := w.start(wrong.workflow("2"), reserve, charge, slow, notify)
		settle()
		for i := range 5 {
			signal(t, e, "order", proceed.Name(), fmt.Sprint(i), "go")
			pass(time.Minute)
		}
		stop(t, e)
		for range 3 { // the same version again and again
			e = w.start(wrong.workflow("2"), reserve, charge, slow, notify)
			pass(time.Minute)
			stop(t, e)
		}
		if n := tried.Load(); n != 1 {
			t.Errorf("version 2 was tried %d times, want once", n)
		}
		for range 2 {
			e = w.start(wrong.workflow("3"), reserve, charge, slow, notify)
			pass(time.Minute)
			stop(t, e)
		}
		if n := tried.Load(); n != 2 {
			t.Errorf("after version 3 the code was tried %d times, want twice", n)
		}
		e = w.start(recorded().workflow("1"), reserve, charge, slow, notify)
		if got, err := finish[string](t, e, "order"); got != orderResult || err != nil {
			t.Errorf("with the old code: %q, %v", got, err)
		}
		for _, line := range []string{"a run is held", "status=parked"} {
			if n := w.log.count(line); n != 2 {
				t.Errorf("%q was logged %d times, want once per version", line, n)
			}
		}
	})
}

// TestE41_InFlightAttemptsOfAParkedRunAreRecorded: while the code does not fit,
// the attempts of its calls go on, retries included, and their outcomes are there
// when it fits again.
func TestE41_InFlightAttemptsOfAParkedRunAreRecorded(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var ran atomic.Int64
		work := activity.New("work", func(ctx context.Context, _ int) (int, error) {
			if ran.Add(1) < 4 {
				return 0, errors.New("not yet")
			}
			return 5, nil
		})
		order := func(extra bool) workflow.Workflow[int, int] {
			return workflow.New("order", func(wf *workflow.Context, _ int) (int, error) {
				if extra {
					_ = workflow.Sleep(wf, time.Second)
				}
				return workflow.Call(wf, work, 0)
			}, workflow.Version(fmt.Sprint(extra)))
		}
		e := w.start(order(false), work)
		begin(t, e, order(false), "order", 0)
		settle() // one failure, and in backoff
		w.kill(e)
		e = w.start(order(true), work)
		pass(time.Minute)
		if d := describe(t, e, "order"); d.Status != "parked" {
			t.Errorf("the run is %s", d.Status)
		}
		if n := ran.Load(); n != 4 {
			t.Errorf("the activity ran %d times while its run was parked, want 4 in all", n)
		}
		if calls := describe(t, e, "order").Pending; len(calls) != 0 {
			t.Errorf("pending are %+v, want none: the call is complete", calls)
		}
		stop(t, e)
		e = w.start(order(false), work)
		if got, err := finish[int](t, e, "order"); got != 5 || err != nil {
			t.Errorf("%d, %v", got, err)
		}
		if n := ran.Load(); n != 4 {
			t.Errorf("the activity ran %d times in all, want 4", n)
		}
	})
}

// TestE41_ParkedRunsCanBeEnded: terminate and, once the code fits, cancel reach a
// parked run.
func TestE41_ParkedRunsCanBeEnded(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		w.startRecorded(recorded().workflow("1"))
		wrong := recorded()
		wrong.first = charge
		e := w.start(wrong.workflow("2"), reserve, charge, slow, notify)
		settle()
		if err := e.Terminate(t.Context(), "order", "", request.By{Why: "give up"}); err != nil {
			t.Fatal(err)
		}
		if _, err := finish[string](t, e, "order"); err == nil || err.Error() != "terminated: give up" {
			t.Errorf("got %v", err)
		}
	})
}

// TestE47_PanicParks: a workflow that panics is parked with value and stack; the
// process and the other runs go on, and mended code resumes it.
func TestE47_PanicParks(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		order := func(version string, panics bool) workflow.Workflow[int, int] {
			return workflow.New("order", func(wf *workflow.Context, _ int) (int, error) {
				n, err := workflow.Call(wf, reserve, 1)
				if panics {
					n = make([]int, 1)[n]
				}
				return n, err
			}, workflow.Version(version))
		}
		e := w.start(order("1", true), reserve)
		begin(t, e, order("1", true), "order", 0)
		begin(t, e, order("1", true), "other", 0)
		settle()
		d := describe(t, e, "order")
		if d.Status != "parked" || d.Reason != "the workflow's code panicked: runtime error: index out of range [2] with length 1" {
			t.Errorf("the run is %s: %s", d.Status, d.Reason)
		}
		if !strings.Contains(d.Stack, "park_test.go") {
			t.Errorf("the stack does not lead to the code:\n%s", d.Stack)
		}
		if why, err := e.Why(t.Context(), "order", ""); err != nil || !strings.Contains(why, "fix the code and deploy it") {
			t.Errorf("it says %q, %v", why, err)
		}
		if n := w.log.count("park_test.go"); n != 2 {
			t.Errorf("%d lines of the log have the stack of a parked run", n)
		}
		// The activity is complete, it will not run again.
		if kinds := fmt.Sprint(kindsOf(t, e, "order")); kinds != "[ActivityScheduled AttemptStarted CallCompleted CodeDeferred]" {
			t.Errorf("the history has %s", kinds)
		}
		stop(t, e)
		e = w.start(order("2", false), reserve)
		for _, id := range []string{"order", "other"} {
			if got, err := finish[int](t, e, id); got != 2 || err != nil {
				t.Errorf("mended: %d, %v", got, err)
			}
		}
	})
}

// kindsOf lists the kinds of a run's events.
func kindsOf(t *testing.T, e *engine.Engine, id string) []history.Kind {
	t.Helper()
	var kinds []history.Kind
	for _, ev := range eventsOf(t, e, id) {
		kinds = append(kinds, ev.Kind)
	}
	return kinds
}

// TestE10_WaitingForCode: a run whose workflow its owner does not know waits,
// visibly, and goes on with an owner that does. What happens to it meanwhile is
// recorded.
func TestE10_WaitingForCode(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		order := workflow.New("order", func(wf *workflow.Context, n int) (string, error) {
			word, err := workflow.Receive(wf, proceed)
			if err != nil {
				return "", err
			}
			n, err = workflow.Call(wf, reserve, n)
			return fmt.Sprint(word, n), err
		})
		client := w.open(w.config())
		begin(t, client, order, "order", 1) // nobody serves the database yet
		e := w.start(reserve)
		settle()
		d := describe(t, client, "order")
		if d.Status != "waiting-for-code" || !strings.Contains(d.Reason, `workflow "order" is not registered with the engine node`) {
			t.Errorf("the run is %s: %s", d.Status, d.Reason)
		}
		signal(t, client, "order", proceed.Name(), "", "go")
		pass(time.Hour)
		stop(t, e)
		e = w.start(reserve, order)
		if got, err := finish[string](t, client, "order"); got != "go2" || err != nil {
			t.Errorf("with an owner that knows it: %q, %v", got, err)
		}
		if n := w.log.count("a held run continues"); n != 1 {
			t.Errorf("that was logged %d times, want once", n)
		}
		stop(t, e)
	})
}

// TestE10_UnregisteredActivity: calls of an activity that the owner lacks wait in
// the queue; the engine says which it is; an engine that has it runs them.
func TestE10_UnregisteredActivity(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		order := workflow.New("order", func(wf *workflow.Context, n int) (int, error) {
			return workflow.Call(wf, reserve, n)
		})
		other := workflow.New("other", func(wf *workflow.Context, n int) (int, error) {
			return workflow.Call(wf, charge, n)
		})
		e := w.start(order, other, charge)
		begin(t, e, order, "order", 1)
		pass(time.Hour)
		if got := complete(t, e, other, "other", 2); got != 4 {
			t.Errorf("another activity: %d", got)
		}
		if p := onlyCall(t, e, "order"); p.State != "queued" || p.Attempt != 1 {
			t.Errorf("the call is %+v, want it queued", p)
		} else if want := "no live node has registered activity reserve"; p.Unserved != want {
			t.Errorf("it waits because %q, want %q", p.Unserved, want)
		}
		want := `activity "reserve" is called by workflows but not registered with this engine; its calls wait in the queue: register it and start again ` + see.Queues
		if err := e.Health(); err == nil || err.Error() != want {
			t.Errorf("Health says %v", err)
		}
		if n := w.log.count("its calls wait until a process"); n != 1 {
			t.Errorf("that was logged %d times, want once", n)
		}
		stop(t, e)
		e = w.start(order, other, reserve)
		if got, err := finish[int](t, e, "order"); got != 2 || err != nil {
			t.Errorf("%d, %v", got, err)
		}
		if err := e.Health(); err != nil {
			t.Errorf("Health says %v", err)
		}
	})
}
