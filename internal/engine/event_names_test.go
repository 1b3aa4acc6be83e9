package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestI12_EveryEventOfACallHasItsName: every event of a call names its activity, so a reader
// need not look up where the call was scheduled.
func TestI12_EveryEventOfACallHasItsName(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		charge := activity.New("charge", func(context.Context, int) (int, error) { return 1, nil })
		refuse := activity.New("refuse", func(context.Context, int) (int, error) {
			return 0, errors.New("no")
		}, activity.Retry(retry.Policy{MaxAttempts: 1}))
		order := workflow.New("order", func(wf *workflow.Context, _ int) (int, error) {
			if _, err := workflow.Call(wf, refuse, 1); err == nil {
				t.Error("it did not fail")
			}
			return workflow.Call(wf, charge, 1)
		})
		e := w.start(order, charge, refuse)
		begin(t, e, order, "run", 1)
		if _, err := finish[int](t, e, "run"); err != nil {
			t.Fatal(err)
		}
		events, err := e.Events(t.Context(), "run", "", view.HistoryRange{})
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]string{}
		for _, ev := range events {
			var recorded struct{ Name string }
			if err := json.Unmarshal(ev.Record, &recorded); err != nil {
				t.Fatal(err)
			}
			if ev.Call != 0 && (ev.Name == "" || recorded.Name != ev.Name) {
				t.Errorf("%s of call %d has the name %q, in JSON %q", ev.Kind, ev.Call, ev.Name, recorded.Name)
			}
			names[ev.Kind] = ev.Name
		}
		if names["CallFailed"] != "refuse" || names["CallCompleted"] != "charge" {
			t.Errorf("the names are %v", names)
		}
	})
}

// TestI12_TheEndOfACallHasItsErrorsType: one field says what kind of error ended a call,
// whatever it is wrapped in, and one what the last attempt failed with.
func TestI12_TheEndOfACallHasItsErrorsType(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		fails := func(name string, err error, succeedsAt int, options ...activity.Option) activity.Activity[int, int] {
			return activity.New(name, func(ctx context.Context, _ int) (int, error) {
				if info, _ := activity.FromContext(ctx); info.Attempt == succeedsAt {
					return succeedsAt, nil
				}
				return 0, err
			}, options...)
		}
		twice := activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter})
		unavailable := &awayError{}
		slow := activity.New("slow", func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}, activity.Retry(retry.Policy{MaxAttempts: 1, AttemptTimeout: time.Second}))
		calls := []activity.Activity[int, int]{
			fails("recovers", unavailable, 2, twice),
			fails("exhausts", unavailable, 0, twice),
			fails("stops", retry.Terminal(fmt.Errorf("while it was asked: %w", unavailable)), 0, twice),
			slow,
		}
		hangs := activity.New("canceled", func(ctx context.Context, _ int) (int, error) {
			if info, _ := activity.FromContext(ctx); info.Attempt == 1 {
				return 0, unavailable
			}
			<-ctx.Done()
			return 0, fmt.Errorf("while it stopped: %w", &stuckError{})
		}, twice)
		order := workflow.New("order", func(wf *workflow.Context, _ int) (int, error) {
			for _, c := range calls {
				_, _ = workflow.Call(wf, c, 1)
			}
			_, _ = workflow.Call(wf, hangs, 1)
			return 0, nil
		})
		e := w.start(order, calls[0], calls[1], calls[2], slow, hangs)
		begin(t, e, order, "run", 1)
		pass(time.Minute)
		if err := e.Cancel(t.Context(), "run", "", request.By{Why: "enough"}); err != nil {
			t.Fatal(err)
		}
		if _, err := finish[int](t, e, "run"); err != nil {
			t.Fatal(err)
		}
		events, err := e.Events(t.Context(), "run", "", view.HistoryRange{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, ev := range events {
			var r struct {
				ErrorType string `json:"error_type"`
				Retry     struct {
					LastErrorType string `json:"last_error_type"`
				}
			}
			if err := json.Unmarshal(ev.Record, &r); err != nil {
				t.Fatal(err)
			}
			if ev.Kind == "CallCompleted" || ev.Kind == "CallFailed" || ev.Kind == "CallCanceled" {
				got[ev.Name] = r.ErrorType + "/" + r.Retry.LastErrorType
			}
		}
		want := map[string]string{
			"recovers": "/Away", "exhausts": "Exhausted/Away", "stops": "Away/Away", "slow": "Exhausted/Timeout", "canceled": "Canceled/Stuck",
		}
		if !maps.Equal(got, want) {
			t.Errorf("the types are %v, not %v", got, want)
		}
	})
}

type awayError struct{}

func (*awayError) Error() string     { return "it is away" }
func (*awayError) ErrorType() string { return "Away" }

type stuckError struct{}

func (*stuckError) Error() string     { return "it is stuck" }
func (*stuckError) ErrorType() string { return "Stuck" }
