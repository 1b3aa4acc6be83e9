package workflow_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

func TestE20_ThePolicyOfTheCallThenOfTheActivity(t *testing.T) {
	own := activity.Declare[string, string]("own", activity.Retry(retry.Policy{MaxAttempts: 7}))
	plain := activity.Declare[string, string]("plain")
	var fn workflow.Func[int, int] = func(wf *workflow.Context, _ int) (int, error) {
		workflow.Async(wf, own, "", activity.Retry(retry.Policy{MaxAttempts: 2}))
		workflow.Async(wf, own, "")
		workflow.Async(wf, plain, "")
		workflow.Async(wf, plain, "", activity.Retry(retry.Policy{}))
		return 0, workflow.Sleep(wf, time.Second)
	}
	r := core.New(core.Config{Policy: &retry.Policy{MaxAttempts: 4}}, history.Start{Created: start})
	i := seal.Of(workflow.New("test", fn)).Begin(r)
	defer func() { <-i.Close() }()
	r.Bind(i)
	turn, err := r.Step(start, nil, func(*core.Call) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	var limits []int
	for _, d := range turn.Dispatch {
		limits = append(limits, d.Max)
	}
	if !slices.Equal(limits, []int{2, 7, 4, 5}) {
		t.Errorf("%v", limits)
	}
}

func TestE40_CallsThatCannotBeMadeAreRefused(t *testing.T) {
	odd := activity.Declare[func(), string]("odd")
	w, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		told := func(_ any, err error) { log("%t %v", retry.IsTerminal(err), err) }
		told(workflow.Call(wf, odd, func() {}))
		told(workflow.Call(wf, echo, "x", activity.Retry(retry.Policy{MaxAttempts: -1})))
		told(workflow.Call(wf, echo, "x", activity.Retry(retry.Policy{CrashLimit: -1})))
		told(workflow.Do(wf, "", func(context.Context) (int, error) { return 1, nil }))
		return "", nil
	})
	if len(log) != 4 {
		t.Fatalf("%q", log)
	}
	for i, want := range []string{
		`true the input of "odd": a value of type func() cannot be encoded as JSON`,
		`true the retry policy of "echo" is not usable`, `true the retry policy of "echo" is not usable`,
		"true the step name is empty",
	} {
		if !contains(log[i], want) {
			t.Errorf("%s", log[i])
		}
	}
	if !slices.Equal(w.kinds(), []string{"RunCompleted"}) {
		t.Errorf("%q", w.kinds())
	}
}

func TestE4_FailuresReachTheCode(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		_, err := workflow.Call(wf, fails, "x")
		var exhausted *retry.ExhaustedError
		log("%v %t %t %d", err, errors.Is(err, errBroken), errors.As(err, &exhausted), len(exhausted.Records))
		log("%d %s %v", exhausted.Records[0].Number, exhausted.Records[0].End.Format(time.TimeOnly), exhausted.Records[0].Err)
		n, err := workflow.Call(wf, activity.Declare[string, int]("echo"), "seven")
		log("%d %t %v", n, retry.IsTerminal(err), err)
		return "", nil
	})
	expect(t, log, "fails: gave up after 1 attempt (max attempts): x: broken true true 1", "1 00:00:01 x: broken",
		`0 true the result of "echo": the recorded value does not fit type *int: json: cannot unmarshal string into Go value of type int`)
}

func TestE40_InlineSteps(t *testing.T) {
	ran := 0
	w, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		word := "hello"
		s, err := workflow.Do(wf, "greet", func(context.Context) (string, error) {
			ran++
			if ran < 3 {
				return "", errBroken
			}
			return word + " world", nil
		}, activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Second)}))
		log("%s %v", s, err)
		_, err = workflow.Do(wf, "odd", func(context.Context) (chan int, error) { return nil, nil })
		log("%t %v", retry.IsTerminal(err), err)
		_, err = workflow.Do(wf, "panics", func(context.Context) (int, error) { panic("boom") }, once)
		log("%v", errors.Unwrap(err))
		a := workflow.DoAsync(wf, "a", func(context.Context) (int, error) { return 1, nil })
		b := workflow.DoAsync(wf, "b", func(context.Context) (int, error) { return 2, nil })
		x, _ := b.Get(wf)
		y, _ := a.Get(wf)
		log("%d %d", x, y)
		return "", nil
	})
	if len(log) != 4 || log[0] != "hello world <nil>" || !contains(log[1], `true the result of step "odd": a value of type chan int`) ||
		!contains(log[2], "panic: boom") || log[3] != "2 1" {
		t.Errorf("%q", log)
	}
	if ran != 3 || w.calls["greet"] != 3 {
		t.Errorf("the step ran %d times", ran)
	}
}

// The body of a step exists only while its call is open.
func TestE40_StepBodiesAreForgotten(t *testing.T) {
	w, _ := play(t, func(wf *workflow.Context, log logger) (string, error) {
		_, err := workflow.Do(wf, "step", func(context.Context) (int, error) { return 1, nil })
		return "", err
	})
	if w.instance.Body(1) != nil {
		t.Error("the body of a closed step is kept")
	}
}

func TestDefinitions(t *testing.T) {
	declared := workflow.Declare[string, string]("orders", workflow.Version("v2"))
	if d := seal.Of(declared); declared.Name() != "orders" || d.Begin != nil || d.Version != "v2" {
		t.Errorf("%+v", d)
	}
	full := declared.Impl(func(*workflow.Context, string) (string, error) { return "", nil })
	if seal.Of(full).Begin == nil || seal.Of(declared).Begin != nil || seal.Of(full).Version != "v2" {
		t.Error("Impl changed the handle, or lost something")
	}
	if plain := seal.Of(workflow.New("plain", func(*workflow.Context, int) (int, error) { return 0, nil })); plain.Version != "" {
		t.Error("a version that no declaration set")
	}
	if zero := seal.Of(workflow.Workflow[int, int]{}); zero.Name != "" || zero.Begin != nil {
		t.Error("a zero Workflow has code")
	}
}

func TestInputsAndResultsThatDoNotFit(t *testing.T) {
	input, _ := history.Encode("seven")
	for name, begin := range map[string]func(*core.Run) seal.Instance{
		`workflow "test": input: the recorded value does not fit type *int`: seal.Of(workflow.New("test", func(*workflow.Context, int) (int, error) { return 0, nil })).Begin,
		`workflow "test": result: a value of type chan int`:                 seal.Of(workflow.New("test", func(*workflow.Context, string) (chan int, error) { return nil, nil })).Begin,
	} {
		r := core.New(core.Config{}, history.Start{Created: start, Input: input})
		i := begin(r)
		r.Bind(i)
		turn, err := r.Step(start, nil, func(*core.Call) bool { return true })
		<-i.Close()
		if err != nil {
			t.Fatal(err)
		}
		d, err := core.DecodeDetail(turn.State.Detail)
		if err != nil || turn.State.Status != core.StatusFailed || !contains(d.Failure.Message, name) || !retry.IsTerminal(d.Failure.Err()) {
			t.Errorf("%v, %+v", err, d)
		}
	}
}
