package perduretest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
)

// Inject applies a fault to attempts of an activity or an inline step (see Step): to all
// of them, or to those that meet every condition.
//
//	env.Inject(Charge, perduretest.Fail(errDeclined), perduretest.Attempts(1, 2))
//	env.Inject(Ship, perduretest.CrashBefore, perduretest.Attempts(1))
//	env.Inject(Ship, perduretest.Slow(time.Minute), perduretest.Probability(0.1))
//
// It applies from now on, to mocks and real bodies. Several faults for one attempt happen
// in the order in which they were injected. If no attempt of that name ever begins, the
// test fails.
func (e *Env) Inject(d Target, f Fault, conditions ...Condition) {
	e.t.Helper()
	if _, is := d.(seal.Workflow); is || d == nil || d.Name() == "" {
		e.t.Fatalf("Env.Inject: %v is neither an activity nor a Step", d)
	}
	if f.attempt.kind == 0 {
		e.t.Fatalf("Env.Inject(%q): %q can only happen to writes; see Env.At", d.Name(), f)
	}
	if (f.attempt.kind == fail || f.attempt.kind == loseAnswer) && f.attempt.err == nil {
		e.t.Fatalf("Env.Inject(%q): an attempt cannot fail with a nil error", d.Name())
	}
	in := &injection{name: d.Name(), fault: f.attempt}
	for _, c := range conditions {
		if err := c(in); err != nil {
			e.t.Fatalf("Env.Inject(%q): %v", d.Name(), err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	in.source = fmt.Sprintf("injection %d, seed %d, of ", len(e.injections), e.config.seed)
	e.injections = append(e.injections, in)
}

// Target is an activity or a Step.
type Target interface{ Name() string }

// Step names an inline step (workflow.Do) for Env.Inject and the expectations.
func Step(name string) Target { return step(name) }

type step string

func (s step) Name() string { return string(s) }

// Condition selects the attempts that a fault applies to.
type Condition func(*injection) error

// Attempts selects attempts by their number within their call, counted from 1.
func Attempts(numbers ...int) Condition {
	return func(in *injection) error {
		if len(numbers) == 0 || slices.Min(numbers) < 1 {
			return fmt.Errorf("attempts are counted from 1; got %v", numbers)
		}
		in.attempts = append(in.attempts, numbers...)
		return nil
	}
}

// Probability selects each attempt with probability p, which is above 0 and at most
// 1. What is drawn depends on the Seed of the environment, on the workflow ID, the
// call and the attempt, so that a test does the same whenever it runs.
func Probability(p float64) Condition {
	return func(in *injection) error {
		if !(p > 0 && p <= 1) {
			return fmt.Errorf("the probability is %v: it must be above 0 and at most 1", p)
		}
		in.probability = p
		return nil
	}
}

// Of selects attempts of the runs of one workflow ID.
func Of(workflowID string) Condition {
	return func(in *injection) error {
		in.workflowID = workflowID
		return nil
	}
}

// Times limits how often the fault happens in the whole test.
func Times(n int) Condition {
	return func(in *injection) error {
		if n < 1 {
			return fmt.Errorf("a fault cannot happen %d times", n)
		}
		in.times = n
		return nil
	}
}

// injection is a fault and the attempts that it happens to.
type injection struct {
	name  string
	fault mishap

	attempts    []int   // none: all
	probability float64 // 0: certainly
	workflowID  string  // "": any
	times       int     // 0: without bound
	source      string  // of draws

	seen     bool // an attempt of that name began
	happened int
}

// strikes decides whether the fault happens to an attempt, which is of the run
// with this place among those of its workflow ID.
func (in *injection) strikes(info activity.Info, place int) bool {
	if in.name != info.Activity {
		return false
	}
	in.seen = true
	switch {
	case len(in.attempts) > 0 && !slices.Contains(in.attempts, info.Attempt),
		in.workflowID != "" && in.workflowID != info.WorkflowID,
		in.times > 0 && in.happened == in.times,
		in.probability > 0 && in.draw(info, place) >= in.probability:
		return false
	}
	in.happened++
	return true
}

// draw does not depend on the run ID, which is another one in each run of the test.
func (in *injection) draw(info activity.Info, place int) float64 {
	call, _ := strconv.ParseInt(info.CallID[strings.LastIndex(info.CallID, "/")+1:], 10, 64)
	return core.Uniform(fmt.Sprint(in.source, info.WorkflowID, " ", place), call, info.Attempt)
}

// mishaps are what happens to an attempt, in order.
func (e *Env) mishaps(info activity.Info) (all []mishap) {
	e.mu.Lock()
	defer e.mu.Unlock()
	runs := e.runs[info.WorkflowID]
	if !slices.Contains(runs, info.RunID) {
		runs = append(runs, info.RunID)
		e.runs[info.WorkflowID] = runs
	}
	place := slices.Index(runs, info.RunID)
	for _, in := range e.injections {
		if in.strikes(info, place) {
			all = append(all, in.fault)
		}
	}
	return all
}

// around runs the attempts of a life, with their mishaps.
func (e *Env) around(l *life) func(context.Context, seal.Body) (history.Payload, error) {
	return func(ctx context.Context, body seal.Body) (history.Payload, error) {
		info, _ := activity.FromContext(ctx)
		if info.Question > 0 {
			return body(ctx) // mishaps are those of attempts
		}
		for _, m := range slices.Backward(e.mishaps(info)) {
			body = m.befall(l, body)
		}
		return body(ctx)
	}
}

// befall is the body with the mishap.
func (m mishap) befall(l *life, body seal.Body) seal.Body {
	return func(ctx context.Context) (history.Payload, error) {
		switch m.kind {
		case crashBefore:
			return l.die(ctx)
		case crashAfter:
			_, _ = body(ctx)
			return l.die(ctx)
		case hang:
			<-ctx.Done()
			return history.Payload{}, context.Cause(ctx)
		case slow:
			select {
			case <-time.After(m.delay):
			case <-ctx.Done():
				return history.Payload{}, context.Cause(ctx)
			}
		case fail:
			return history.Payload{}, m.err
		case loseAnswer:
			if _, err := body(ctx); err != nil {
				return history.Payload{}, err
			}
			return history.Payload{}, m.err
		case panics:
			panic(m.err.(panicValue).value)
		}
		return body(ctx)
	}
}

// die ends the process from within an attempt.
func (l *life) die(ctx context.Context) (history.Payload, error) {
	l.plan.Crash()
	<-ctx.Done() // nothing that it returns is heard
	return history.Payload{}, context.Cause(ctx)
}

// idle lists the faults and mocks that nothing came of.
func (e *Env) idle() (all []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, in := range e.injections {
		if !in.seen {
			all = append(all, fmt.Sprintf("Env.Inject(%q): nothing of that name ran, so the fault (%s) never happened.", in.name, in.fault))
		}
	}
	for _, m := range e.mocks {
		if name, unused := m.stub.unused(); unused {
			all = append(all, fmt.Sprintf("perduretest.Mock: %q was never called. Is it the activity that the workflow calls? If it need not be called, say so: Maybe().", name))
		}
	}
	slices.Sort(all)
	return all
}
