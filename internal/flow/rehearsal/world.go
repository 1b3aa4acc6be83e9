package rehearsal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/retry"
)

// began is when every rehearsal begins.
var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is the virtual time of one case and what stands in it.
type world struct {
	c         *Case
	tell      func(at time.Duration, what string)
	scheduler *coro.Scheduler
	now       time.Time
	alarms    []alarm // the next one first
	steps     int
	random    *rand.Rand
	calls     map[string]int
	inbox     map[string][]eval.Value
	waiting   map[string][]*coro.Coroutine // for signals
	fault     error                        // of the case
}

func newWorld(c *Case, tell func(at time.Duration, what string)) *world {
	if tell == nil {
		tell = func(time.Duration, string) {}
	}
	return &world{
		c: c, tell: tell, scheduler: coro.New(), now: began, random: rand.New(rand.NewPCG(1, 2)),
		calls: map[string]int{}, inbox: map[string][]eval.Value{}, waiting: map[string][]*coro.Coroutine{},
	}
}

// alarm is something that happens at a time.
type alarm struct {
	at time.Time
	do func()
}

// at sets an alarm, behind those of the same time.
func (w *world) at(t time.Time, do func()) {
	w.steps++
	behind := sort.Search(len(w.alarms), func(i int) bool { return w.alarms[i].at.After(t) })
	w.alarms = slices.Insert(w.alarms, behind, alarm{t, do})
}

func (w *world) say(format string, args ...any) {
	w.tell(w.now.Sub(began), fmt.Sprintf(format, args...))
}

// run runs a program until it has ended, and lets time pass whenever all of it waits.
func (w *world) run(program func(fx eval.Effects) (eval.Value, error)) (*Outcome, error) {
	defer w.scheduler.Close()
	for _, s := range w.c.Signals {
		var v eval.Value
		if s.Value != nil {
			var err error
			if v, err = eval.Decode(s.Value); err != nil {
				return nil, fmt.Errorf("the signal %s: %w", s.Name, err)
			}
		}
		w.at(began.Add(s.after), func() { w.signal(s.Name, v) })
	}
	out := &Outcome{Calls: w.calls}
	ended := false
	w.scheduler.Go(func(c *coro.Coroutine) {
		out.Result, out.Err = program(&effects{w: w, co: c})
		ended = true
	})
	for {
		if err := w.scheduler.Run(); err != nil {
			return nil, err
		}
		switch {
		case w.fault != nil:
			return nil, w.fault
		case ended:
			out.Took = w.now.Sub(began)
			return out, nil
		case len(w.alarms) == 0:
			return nil, errors.New("the program waits for a signal that the case does not send: add it to the signals of the case")
		case w.steps > MaxSteps:
			return nil, fmt.Errorf("the program made %d attempts and waits, and has not ended", MaxSteps)
		}
		next := w.alarms[0]
		w.alarms = w.alarms[1:]
		w.now = next.at
		next.do()
	}
}

func (w *world) signal(name string, v eval.Value) {
	w.say("signal %s", name)
	w.inbox[name] = append(w.inbox[name], v)
	if first := w.waiting[name]; len(first) > 0 {
		w.waiting[name] = first[1:]
		first[0].Wake()
	}
}

// effects are those of one line of a program.
type effects struct {
	eval.Zones
	w  *world
	co *coro.Coroutine
}

func (e *effects) sleep(d time.Duration) {
	e.w.at(e.w.now.Add(d), e.co.Wake)
	e.co.Park()
}

// Sleep lets virtual time pass.
func (e *effects) Sleep(d time.Duration) error {
	e.w.say("sleeps %s", d)
	e.sleep(d)
	return nil
}

// ActAll runs actions at the same time.
func (e *effects) ActAll(all []eval.Action) []eval.Outcome {
	out := make([]eval.Outcome, len(all))
	e.Each(len(all), func(i int, in eval.Effects) { out[i].Value, out[i].Err = in.Act(all[i]) })
	return out
}

// Each makes calls at the same time.
func (e *effects) Each(n int, do func(i int, in eval.Effects)) {
	open, parked := n, false
	for i := range n {
		e.w.scheduler.Go(func(c *coro.Coroutine) {
			do(i, &effects{w: e.w, co: c})
			if open--; open == 0 && parked {
				e.co.Wake()
			}
		})
	}
	for open > 0 {
		parked = true
		e.co.Park()
	}
}

// Retry makes the attempts of a block.
func (e *effects) Retry(policy retry.Policy, do func(in eval.Effects) error) error {
	state := retry.State{First: e.w.now}
	for {
		err := do(e)
		if err == nil {
			return nil
		}
		state.Attempt++
		f := retry.Classify(err)
		d := retry.Decide(&policy, state, f, e.w.now, 0.5)
		switch {
		case !d.Retry && f.Terminal:
			return err
		case !d.Retry:
			return &retry.ExhaustedError{Attempts: state.Attempt, Reason: d.Reason, Max: d.Max, Within: policy.Within, Err: err}
		}
		e.w.say("the block failed, attempt %d: %s; next in %s", state.Attempt, f.Type(), d.Delay)
		state.Previous = d.Delay
		e.sleep(d.Delay)
	}
}

// Receive waits for a signal of the case.
func (e *effects) Receive(signal string, timeout time.Duration) (eval.Value, error) {
	w := e.w
	late := false
	if len(w.inbox[signal]) == 0 {
		w.say("waits for the signal %s", signal)
		w.waiting[signal] = append(w.waiting[signal], e.co)
		open := true
		if timeout > 0 && timeout != retry.Forever {
			w.at(w.now.Add(timeout), func() {
				if open {
					late = true
					w.leave(signal, e.co)
					e.co.Wake()
				}
			})
		}
		e.co.Park()
		open = false
	}
	if late {
		return nil, &retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: timeout}
	}
	v := w.inbox[signal][0]
	w.inbox[signal] = w.inbox[signal][1:]
	return v, nil
}

// leave ends the waiting of a line for a signal.
func (w *world) leave(signal string, co *coro.Coroutine) {
	w.waiting[signal] = slices.DeleteFunc(w.waiting[signal], func(c *coro.Coroutine) bool { return c == co })
}

// Watch does nothing: a rehearsal takes no queries.
func (e *effects) Watch(func() *eval.Dict) {}

// Uncanceled are the same effects: nothing is canceled.
func (e *effects) Uncanceled() eval.Effects { return e }

// Turn changes whenever something was waited for.
func (e *effects) Turn() int64 { return int64(e.w.steps) }

// History is none: a rehearsal is one run.
func (e *effects) History() (events, most int) { return 0, 0 }

// Now is virtual.
func (e *effects) Now() time.Time { return e.w.now }

// UUID is the same in each rehearsal.
func (e *effects) UUID() string {
	return fmt.Sprintf("00000000-0000-4000-8000-%012x", e.w.random.Uint64()&(1<<48-1))
}

// Random is the same in each rehearsal.
func (e *effects) Random() float64 { return e.w.random.Float64() }
