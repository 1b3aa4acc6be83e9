package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// verbs are uses of a context, by name.
var verbs = map[string]func(wf *workflow.Context){
	"Call":  func(wf *workflow.Context) { _, _ = workflow.Call(wf, echo, "x") },
	"Async": func(wf *workflow.Context) { workflow.Async(wf, echo, "x") },
	"Do": func(wf *workflow.Context) {
		_, _ = workflow.Do(wf, "step", func(context.Context) (int, error) { return 0, nil })
	},
	"Sleep":        func(wf *workflow.Context) { _ = workflow.Sleep(wf, time.Second) },
	"NewTimer":     func(wf *workflow.Context) { workflow.NewTimer(wf, time.Second) },
	"Receive":      func(wf *workflow.Context) { _, _ = workflow.Receive(wf, words) },
	"ReceiveAsync": func(wf *workflow.Context) { workflow.ReceiveAsync(wf, words) },
	"SideEffect":   func(wf *workflow.Context) { workflow.SideEffect(wf, "x", func() int { return 0 }) },
	"Now":          func(wf *workflow.Context) { workflow.Now(wf) },
	"Rand":         func(wf *workflow.Context) { workflow.Rand(wf) },
	"UUID":         func(wf *workflow.Context) { workflow.UUID(wf) },
	"GetInfo":      func(wf *workflow.Context) { workflow.GetInfo(wf) },
	"Go":           func(wf *workflow.Context) { workflow.Go(wf, func(*workflow.Context) {}) },
	"Map": func(wf *workflow.Context) {
		_, _ = workflow.Map(wf, []int{1}, func(*workflow.Context, int) (int, error) { return 0, nil })
	},
	"NewChannel": func(wf *workflow.Context) { workflow.NewChannel[int](wf, 1) },
	"WithCancel": func(wf *workflow.Context) { workflow.WithCancel(wf) },
	"Shield":     func(wf *workflow.Context) { workflow.Shield(wf) },
	"WaitAll":    func(wf *workflow.Context) { workflow.WaitAll(wf) },
	"Timeout": func(wf *workflow.Context) {
		_, _ = workflow.Timeout(wf, time.Second, func(*workflow.Context) (int, error) { return 0, nil })
	},
	"Retry": func(wf *workflow.Context) {
		_, _ = workflow.Retry(wf, retry.Never, func(*workflow.Context) (int, error) { return 0, nil })
	},
	"VersionOf": func(wf *workflow.Context) { workflow.VersionOf(wf, "x", 0, 1) },
	"SetStatus": func(wf *workflow.Context) { workflow.SetStatus(wf, "x") },
	"Err":       func(wf *workflow.Context) { _ = wf.Err() },
}

// refused reports how a use of a context was refused.
func refused(use func()) (text string) {
	defer func() {
		v := recover()
		err, ok := v.(error)
		switch {
		case v == nil:
			text = "it was not noticed"
		case !ok || !retry.IsTerminal(err) || !contains(err.Error(), "a workflow context was used outside of its coroutine"):
			text = fmt.Sprint("the panic says: ", v)
		default:
			text = "refused"
		}
	}()
	use()
	return ""
}

// E40: using the context where it does not belong panics, with a message that
// says so and that no retry repeats.
func TestE40_MisuseOfTheContext(t *testing.T) {
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			if s := refused(func() { verb(nil) }); s != "refused" {
				t.Errorf("nil: %s", s)
			}
			if s := refused(func() { verb(&workflow.Context{}) }); s != "refused" {
				t.Errorf("zero: %s", s)
			}
			_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
				//perdure:deterministic the outer context is what is tested
				workflow.Go(wf, func(*workflow.Context) { log("%s", refused(func() { verb(wf) })) })
				_ = workflow.Sleep(wf, time.Second)
				//perdure:deterministic what it leads to is what is tested
				log("%s", workflow.SideEffect(wf, "inside", func() string { return refused(func() { verb(wf) }) }))
				return "", nil
			})
			expect(t, log, "refused", "refused")
		})
	}
}

// In an inline step the panic fails the call immediately, whatever its policy.
func TestE40_MisuseInAnInlineStep(t *testing.T) {
	for name, verb := range verbs {
		w, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
			_, err := workflow.Do(wf, "step", func(context.Context) (int, error) {
				verb(wf) //perdure:deterministic what it leads to is what is tested
				return 0, nil
			})
			var p *retry.PanicError
			log("%t %t", errors.As(err, &p), retry.IsTerminal(err))
			if err != nil && !contains(err.Error(), "inside an inline step") {
				log("%v", err)
			}
			return "", nil
		})
		expect(t, log, "true true")
		if w.calls["step"] != 1 {
			t.Errorf("%s: the step ran %d times", name, w.calls["step"])
		}
	}
}

// The function that cancels a scope belongs to the run as well.
func TestE40_MisuseOfCancel(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		_, cancel := workflow.WithCancel(wf)
		_, err := workflow.Do(wf, "step", func(context.Context) (string, error) { return refused(cancel), nil })
		s, _ := workflow.Do(wf, "step", func(context.Context) (string, error) { return refused(cancel), nil })
		log("%s %v", s, err)
		return "", nil
	})
	expect(t, log, "refused <nil>")
}
