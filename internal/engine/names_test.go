package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// unusableNames are names that could not be stored, shown, or read back as they
// were, and what is said of them.
var unusableNames = map[string]string{
	"":                       "is empty",
	"naïve"[:3]:              "is not valid UTF-8",
	"a\x00b":                 "contains a NUL character",
	strings.Repeat("x", 201): "is 201 bytes long; the limit is 200",
}

// TestI13_NamesInCodeAreRefused: a call by a name that cannot be recorded fails
// at once and for good with an error that says why. The run goes on with that,
// live and in a replay, and nothing of it is in the history.
func TestI13_NamesInCodeAreRefused(t *testing.T) {
	extent.Unwatched(t, "it varies names")
	for what, call := range map[string]func(wf *workflow.Context, name string) error{
		"step name": func(wf *workflow.Context, name string) error {
			_, err := workflow.Do(wf, name, func(context.Context) (int, error) { return 1, nil })
			return err
		},
		"activity name": func(wf *workflow.Context, name string) error {
			//perdure:deterministic what it leads to is what is tested
			_, err := workflow.Call(wf, activity.New(name, func(context.Context, int) (int, error) { return 1, nil }), 1)
			return err
		},
		"signal name": func(wf *workflow.Context, name string) error {
			_, err := workflow.Receive(wf, workflow.NewSignal[int](name))
			return err
		},
	} {
		for name, problem := range unusableNames {
			t.Run(fmt.Sprintf("%s %.9q", what, name), func(t *testing.T) {
				needsTransactions.inBothModes(t, func(t *testing.T, w *world) {
					order := workflow.New("order", func(wf *workflow.Context, _ int) (string, error) {
						_, err := workflow.Retry(wf, retry.Policy{MaxAttempts: 5}, func(wf *workflow.Context) (int, error) { return 0, call(wf, name) })
						if refusal := new(history.InputError); !errors.As(err, &refusal) || !retry.IsTerminal(err) {
							return "", fmt.Errorf("%w, want a terminal *InputError", err)
						}
						if err := workflow.Sleep(wf, time.Hour); err != nil {
							return "", err
						}
						return err.Error(), nil
					})
					e := w.start(order)
					begin(t, e, order, "order", 1)
					demandEnd(t, e, "order")
					if got, err := finish[string](t, e, "order"); got != "the "+what+" "+problem || err != nil {
						t.Errorf("got %q, %v", got, err)
					}
					if got := fmt.Sprint(kindsOf(t, e, "order")); got != "[BlockStarted TimerStarted TimerFired RunCompleted]" {
						t.Errorf("the history is %s", got)
					}
				})
			})
		}
	}
}

// TestI13_SideEffectNamesAreRefused: a side effect has no error to return, so its
// run is parked with the reason, before the function ran.
func TestI13_SideEffectNamesAreRefused(t *testing.T) {
	for name, problem := range unusableNames {
		t.Run(fmt.Sprintf("%.9q", name), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				ran := 0
				order := workflow.New("order", func(wf *workflow.Context, _ int) (int, error) {
					return workflow.SideEffect(wf, name, func() int { ran++; return 1 }), nil
				})
				e := w.start(order)
				begin(t, e, order, "order", 1)
				settle()
				want := "the workflow's code panicked: the side effect name " + problem
				if d := describe(t, e, "order"); d.Status != "parked" || d.Reason != want || ran != 0 {
					t.Errorf("the run is %s: %s; the function ran %d times", d.Status, d.Reason, ran)
				}
			})
		})
	}
}

// oddError is an error whose type has an unusual name.
type oddError struct{ name string }

func (oddError) Error() string       { return "odd" }
func (e oddError) ErrorType() string { return e.name }

// TestE22_UnusualErrorTypesAreRecorded: an error whose type has a name that no
// database keeps is a failure like any other; the name is mended.
func TestE22_UnusualErrorTypesAreRecorded(t *testing.T) {
	for name, want := range map[string]string{
		"a\x00b":                 "a\uFFFDb",
		"na\xc3ve":               "na\uFFFDve",
		strings.Repeat("ï", 150): strings.Repeat("ï", 100),
	} {
		t.Run(fmt.Sprintf("%.9q", name), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				odd := activity.New("odd", func(context.Context, int) (int, error) { return 0, oddError{name} },
					activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}))
				once := calls(odd)
				e := w.start(once, odd)
				begin(t, e, once, "run", 1)
				settle()
				if p := onlyCall(t, e, "run"); p.State != "backoff" || p.LastErrorType != want {
					t.Errorf("after a failure the call is %+v, want the type %q", p, want)
				}
				demandEnd(t, e, "run")
				_, err := finish[int](t, e, "run")
				var exhausted *retry.ExhaustedError
				if !errors.As(err, &exhausted) || exhausted.Attempts != 2 {
					t.Errorf("got %v", err)
				}
				for _, a := range attemptsOf(t, e, "run") {
					if a.Outcome != "failed" || a.ErrorType != want {
						t.Errorf("attempt %d is %s with the type %q, want %q", a.Number, a.Outcome, a.ErrorType, want)
					}
				}
			})
		})
	}
}

// TestE8_SignalIDsOfDifferentSignalsDoNotMeet: a signal is known by its name and
// ID. Sent again it is dropped; another one with the same ID is not.
func TestE8_SignalIDsOfDifferentSignalsDoNotMeet(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		a, b := workflow.NewSignal[int]("a"), workflow.NewSignal[int]("b")
		order := workflow.New("order", func(wf *workflow.Context, _ int) (string, error) {
			var got []int
			for _, s := range []workflow.Signal[int]{a, b, a} {
				n, err := workflow.Receive(wf, s)
				if err != nil {
					return "", err
				}
				got = append(got, n)
			}
			return fmt.Sprint(got), nil
		})
		e := w.start(order)
		begin(t, e, order, "order", 1)
		for _, s := range []struct {
			name, id string
			value    int
		}{{"a", "event 1", 1}, {"a", "event 1", 2}, {"b", "event 1", 3}, {"b", "event 1", 4}, {"a", "event 2", 5}} {
			settle()
			if describe(t, e, "order").Status == "running" {
				signal(t, e, "order", s.name, s.id, s.value)
			}
		}
		pass(time.Hour)
		if d := describe(t, e, "order"); d.Status != "completed" {
			t.Fatalf("the run is %s and waits for %+v", d.Status, d.Pending)
		}
		if got, err := finish[string](t, e, "order"); got != "[1 3 5]" || err != nil {
			t.Errorf("received %s, %v", got, err)
		}
	})
}
