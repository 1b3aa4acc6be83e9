package workflow_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// trip is a saga of three bookings, of which the last one may fail; what was booked
// is given back by the activity back.
func trip(wf *workflow.Context, last func(wf *workflow.Context) error, back func(wf *workflow.Context, what string) error) (string, error) {
	return workflow.Saga(wf, func(wf *workflow.Context, undo *workflow.Undo) (string, error) {
		for _, what := range []string{"flight", "hotel"} {
			if _, err := workflow.CallWithUndo(wf, undo, echo, what, back); err != nil {
				return "", err
			}
		}
		undo.Add("car", func(wf *workflow.Context) error { return back(wf, "car") })
		return "booked", last(wf)
	})
}

func TestE46_Saga(t *testing.T) {
	give := func(wf *workflow.Context, what string) error {
		_, err := workflow.Call(wf, echo, "give back "+what)
		return err
	}
	refuse := func(wf *workflow.Context, what string) error {
		if what == "hotel" {
			_, err := workflow.Call(wf, fails, "no refund")
			return err
		}
		return give(wf, what)
	}
	breaks := func(wf *workflow.Context) error {
		_, err := workflow.Call(wf, fails, "sold out")
		return err
	}
	for _, c := range []struct {
		name     string
		last     func(wf *workflow.Context) error
		back     func(wf *workflow.Context, what string) error
		messages []message
		calls    []string
		check    func(err error) bool
	}{
		{
			name: "success", last: func(*workflow.Context) error { return nil }, back: give,
			calls: []string{"flight", "hotel"},
			check: func(err error) bool { return err == nil },
		},
		{
			name: "failure", last: breaks, back: give,
			calls: []string{"flight", "hotel", "sold out", "give back car", "give back hotel", "give back flight"},
			check: func(err error) bool {
				var undone *workflow.CompensationError
				return errors.Is(err, errBroken) && !errors.As(err, &undone)
			},
		},
		{
			name: "a compensation fails", last: breaks, back: refuse,
			calls: []string{"flight", "hotel", "sold out", "give back car", "no refund", "give back flight"},
			check: func(err error) bool {
				var undone *workflow.CompensationError
				return errors.Is(err, errBroken) && errors.As(err, &undone) && undone.Compensations == 3 && len(undone.Failed) == 1 &&
					undone.Failed[0].Name == "echo" && undone.Failed[0].Type != ""
			},
		},
		{
			name: "canceled", back: give, messages: []message{cancelRun(time.Minute)},
			last:  func(wf *workflow.Context) error { return workflow.Sleep(wf, time.Hour) },
			calls: []string{"flight", "hotel", "give back car", "give back hotel", "give back flight"},
			check: func(err error) bool { return retry.Classify(err).Canceled },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got error
			w, _ := play(t, func(wf *workflow.Context, log logger) (string, error) {
				out, err := trip(wf, c.last, c.back)
				got = err
				return out, err
			}, c.messages...)
			if !w.ended || !c.check(got) {
				t.Errorf("ended: %t, %v", w.ended, got)
			}
			if got != nil {
				if after := history.FromError(got).Err(); after.Error() != got.Error() || !c.check(after) {
					t.Errorf("after a restart it is %q", after)
				}
			}
			if calls := w.inputs(); !slices.Equal(calls, c.calls) {
				t.Errorf("it called %q, want %q", calls, c.calls)
			}
		})
	}
}

// inputs are what activities were called with, in order.
func (w *world) inputs() (inputs []string) {
	for _, t := range w.turns {
		for _, e := range t.Events {
			if e.Kind == history.ActivityScheduled {
				var in string
				if err := e.Input.Decode(&in); err != nil {
					w.t.Fatal(err)
				}
				inputs = append(inputs, in)
			}
		}
	}
	return inputs
}
