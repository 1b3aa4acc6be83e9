package workflow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/workflow"
)

func TestE40_CoroutinesTakeTurnsInOrder(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		for _, name := range []string{"a", "b"} {
			workflow.Go(wf, func(wf *workflow.Context) {
				log("%s begins", name)
				workflow.Go(wf, func(wf *workflow.Context) { log("child of %s", name) })
				_ = workflow.Sleep(wf, time.Second)
				log("%s ends", name)
			})
		}
		log("main")
		_ = workflow.Sleep(wf, 2*time.Second)
		return "", nil
	})
	expect(t, log, "main", "a begins", "b begins", "child of a", "child of b", "a ends", "b ends")
}

// Coroutines end with the run; what they waited for is given up.
func TestE40_CoroutinesEndWithTheRun(t *testing.T) {
	w, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		workflow.Go(wf, func(wf *workflow.Context) {
			_, err := workflow.Call(wf, stuck, "")
			log("%v", err)
		})
		return "done", workflow.Sleep(wf, time.Second)
	})
	expect(t, log)
	if s, err := w.outcome(); s != "done" || err != nil {
		t.Errorf("%q, %v", s, err)
	}
}

func TestE40_MapKeepsTheOrderOfItems(t *testing.T) {
	w, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		out, err := workflow.Map(wf, []string{"one", "two", "three", "four"}, func(wf *workflow.Context, s string) (string, error) {
			switch s {
			case "two":
				_ = workflow.Sleep(wf, time.Hour)
				return "", fmt.Errorf("late: %w", errBroken)
			case "three":
				return "", errors.New("early")
			}
			_ = workflow.Sleep(wf, time.Duration(10-len(s))*time.Second)
			return workflow.Call(wf, echo, s)
		})
		log("%q %v %t", out, err, errors.Is(err, errBroken))
		none, err := workflow.Map(wf, nil, func(*workflow.Context, int) (int, error) { return 0, nil })
		log("%v %v", none, err)
		return "", nil
	})
	expect(t, log, `["one" "" "" "four"] item 1: late: broken true`, "[] <nil>")
	if w.calls["echo"] != 2 {
		t.Errorf("%v", w.calls)
	}
}

// E47: a panic of the code names the line, and nothing else of the step counts.
func TestE47_PanicIsReportedWithItsStack(t *testing.T) {
	cause := errors.New("cause")
	for name, fn := range map[string]script{
		"main": func(wf *workflow.Context, log logger) (string, error) {
			_ = workflow.Sleep(wf, time.Second)
			panic(cause)
		},
		"coroutine": func(wf *workflow.Context, log logger) (string, error) {
			workflow.Go(wf, func(wf *workflow.Context) {
				_ = workflow.Sleep(wf, time.Second)
				panic(cause)
			})
			_, err := workflow.Receive(wf, words)
			return "", err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log []string
			w := newWorld(t, fn, &log)
			defer func() { <-w.instance.Close() }()
			w.step()
			_, err := w.run.Step(w.now, nil, func(*core.Call) bool { return true })
			var p *coro.PanicError
			if !errors.As(err, &p) || !errors.Is(err, cause) {
				t.Fatalf("%v", err)
			}
			if !strings.Contains(string(p.Stack), "coroutine_test.go") {
				t.Errorf("the stack does not name the line:\n%s", p.Stack)
			}
		})
	}
}

// Dropping a run from memory unwinds its code: deferred calls run, whatever they
// do, and nothing of it counts.
func TestE47_UnwindingRunsDeferredCalls(t *testing.T) {
	var unwound int
	fn := func(wf *workflow.Context, log logger) (string, error) {
		_, cancel := workflow.WithCancel(wf)
		defer func() { unwound++ }()
		defer cancel() // may not be used any more: panics, and is not heard
		defer func() { _ = workflow.Sleep(wf, time.Second) }()
		_, err := workflow.Receive(wf, words)
		return "", err
	}
	var log []string
	w := newWorld(t, fn, &log)
	w.step()
	select {
	case <-w.instance.Close():
	case <-time.After(10 * time.Second):
		t.Fatal("the code does not unwind")
	}
	if unwound != 1 {
		t.Errorf("%d deferred calls ran", unwound)
	}
}
