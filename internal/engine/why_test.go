package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// TestE66_AWaitThatTakesTooLongSaysWhy: a result that does not come in time is a deadline
// that was exceeded, and the text says what the run waits for and what to do about it.
func TestE66_AWaitThatTakesTooLongSaysWhy(t *testing.T) {
	away := errors.New("connection refused")
	bank := gate.New("bank", 5, gate.WithBreaker(gate.Breaker{Failures: 1, Cooldown: time.Hour, Wait: true}))
	failing := func(name string, policy retry.Policy, options ...activity.Option) activity.Activity[string, string] {
		return activity.New(name, func(context.Context, string) (string, error) { return "", away }, append(options, activity.Retry(policy))...)
	}
	slowly := retry.Policy{MaxAttempts: 9, Backoff: retry.Fixed(time.Hour), Jitter: retry.NoJitter}
	quickly := retry.Policy{MaxAttempts: 9, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}
	charge, debit := failing("charge", slowly), failing("debit", quickly, activity.Through(bank))
	render := failing("render", retry.Policy{MaxAttempts: 1, OnExhausted: retry.Pause})
	calls := func(name string, a activity.Activity[string, string]) workflow.Workflow[string, string] {
		return workflow.New(name, func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, a, in) }, workflow.Version("1"))
	}
	backoff, breaker, paused := calls("backoff", charge), calls("breaker", debit), calls("paused", render)
	signaled := workflow.New("signaled", func(wf *workflow.Context, in string) (string, error) {
		return workflow.Receive(wf, workflow.NewSignal[string]("approved"))
	}, workflow.Version("1"))
	panics := workflow.New("panics", func(wf *workflow.Context, in string) (string, error) { panic("oh") }, workflow.Version("1"))
	inVirtualTime(t, func(t *testing.T, w *world) {
		e := w.start(backoff, breaker, paused, signaled, panics, charge, debit, render)
		for id, flow := range map[string]workflow.Workflow[string, string]{
			"backoff": backoff, "breaker": breaker, "paused": paused, "signaled": signaled, "panics": panics, "held": signaled,
		} {
			begin(t, e, flow, id, "in")
		}
		pass(time.Minute)
		control(t, e, "held", core.Control{ID: "p", Operation: core.PauseTheRun, By: "ann", Reason: "wait"})
		want := map[string]string{
			"backoff":  "call 1 (charge) is in backoff until ",
			"breaker":  "call 1 (debit) waits at gate bank, whose circuit breaker is open until ",
			"paused":   "call 1 (render) is paused (max_attempts), after a failed attempt: connection refused; resume it with ops.Resume",
			"signaled": `it waits for the signal "approved"`,
			"panics":   "it is parked: the workflow's code panicked: oh; start an engine with code that fits",
			"held":     "it is paused by ann (wait); resume it with ops.ResumeRun",
		}
		for id, text := range want {
			if err := tooLong(t, e, id); !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v; want %q", id, err, text)
			}
		}
		stop(t, e)
		client := w.open(w.config())
		if err := tooLong(t, client, "backoff"); !strings.Contains(err.Error(), "no live node serves it; start an engine") {
			t.Error(err)
		}
		if err := tooLong(t, client, "held"); !strings.Contains(err.Error(), "start an engine, and it is paused by ann") {
			t.Error(err)
		}
	})
}

// tooLong waits for a result for a second, and returns the error.
func tooLong(t *testing.T, e *engine.Engine, id string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, _, err := e.Result(ctx, id, "")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasSuffix(err.Error(), context.DeadlineExceeded.Error()) {
		t.Fatalf("%s: %v", id, err)
	}
	return err
}
