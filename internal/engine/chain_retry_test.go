package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

func exactRuns(attempts int, wait time.Duration) retry.Policy {
	return retry.Policy{MaxAttempts: attempts, Backoff: retry.Fixed(wait), Jitter: retry.NoJitter}
}

// TestE44_AFailedRunIsRetried: the failed run is closed as continued, with the
// initiator, the reason and the next run on record; that one begins exactly when
// its backoff is over, and nothing is in memory until then. The last failure comes
// back with the number of attempts.
func TestE44_AFailedRunIsRetried(t *testing.T) {
	needsQueries.inVirtualTime(t, func(t *testing.T, w *world) {
		var began []time.Time
		failing := workflow.New("failing", func(wf *workflow.Context, in string) (string, error) {
			began = append(began, workflow.Now(wf))
			return "", fmt.Errorf("attempt %d: %w", workflow.GetInfo(wf).Attempt, errRefused)
		}, workflow.RetryPolicy(exactRuns(3, time.Hour)))
		e := w.start(failing)
		start := time.Now()
		first := begin(t, e, failing, "f", "in")
		pass(time.Minute)
		if holds := engine.Holds(e); holds != "" {
			t.Errorf("while the run waits for its next attempt the engine holds: %s", holds)
		}
		d := describe(t, e, "f")
		if d.Status != "running" || d.Attempt != 2 || d.NextWake == nil || len(d.Chain) != 2 || d.Chain[1].Initiator != history.RetryOfRun {
			t.Errorf("in its backoff it is %+v", d)
		}
		next, events, err := historyOf(t, e, "f", first)
		last := events[len(events)-1]
		if err != nil || last.Kind != history.RunContinued || last.Initiator != history.RetryOfRun || last.ID != d.RunID || last.Reason != "backoff" || next.Attempt != 1 {
			t.Errorf("the first run ends with %+v, %v", last, err)
		}
		second, _, _ := historyOf(t, e, "f", "")
		if second.Previous != first || second.Backoff != time.Hour || second.Failure == nil || !errors.Is(second.Failure.Err(), errRefused) {
			t.Errorf("the second run starts with %+v", second)
		}
		w.kill(e) // the time is on record
		pass(10 * time.Minute)
		e = w.start(failing)
		_, err = finish[string](t, e, "f")
		var exhausted *retry.ExhaustedError
		if !errors.As(err, &exhausted) || exhausted.Attempts != 3 || exhausted.Name != "failing" || !errors.Is(err, errRefused) || !strings.Contains(exhausted.Err.Error(), "attempt 3") {
			t.Errorf("it ended with %v", err)
		}
		for i, at := range began {
			if want := start.Add(time.Duration(i) * time.Hour); !at.Equal(want.Truncate(0)) && at.Sub(want) > 50*time.Millisecond {
				t.Errorf("attempt %d began at %s, want %s", i+1, at, want)
			}
		}
		if len(began) < 3 {
			t.Errorf("the code began %d times", len(began))
		}
	})
}

// TestE44_WhatIsNotRetried: terminal errors, cancellations and terminations end
// the chain, as does success.
func TestE44_WhatIsNotRetried(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		policy := workflow.RetryPolicy(exactRuns(5, time.Hour))
		terminal := workflow.New("terminal", func(*workflow.Context, int) (int, error) { return 0, retry.Terminal(errRefused) }, policy)
		waiting := workflow.New("waiting", func(wf *workflow.Context, _ int) (int, error) {
			if workflow.Sleep(wf, time.Hour) != nil {
				return 0, errors.New("something else, because of the cancellation")
			}
			return 1, nil
		}, policy)
		e := w.start(terminal, waiting)
		for _, id := range []string{"done", "canceled", "terminated"} {
			begin(t, e, waiting, id, 0)
		}
		begin(t, e, terminal, "terminal", 0)
		pass(time.Second)
		if err := errors.Join(e.Cancel(t.Context(), "canceled", "", request.By{Why: "no"}), e.Terminate(t.Context(), "terminated", "", request.By{Why: "no"})); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]string{"done": "completed", "canceled": "failed", "terminated": "terminated", "terminal": "failed"} {
			_, err := finish[int](t, e, id)
			if d := describe(t, e, id); d.Status != want || d.Chain != nil {
				t.Errorf("%s: %s, %v, chain %+v", id, d.Status, err, d.Chain)
			}
			if id == "terminal" && (!errors.Is(err, errRefused) || errors.As(err, new(*retry.ExhaustedError))) {
				t.Errorf("the terminal error came back as %v", err)
			}
		}
	})
}

// TestE44_WithinIsOfTheWholeChain: the time limit of all attempts counts from the first. A
// backoff that would end too late is not begun, and a run that could not begin in time,
// because no engine was running, does not begin.
func TestE44_WithinIsOfTheWholeChain(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		policy := exactRuns(100, time.Hour)
		policy.Within = 150 * time.Minute
		attempts := map[string]int{}
		failing := workflow.New("failing", func(wf *workflow.Context, _ int) (int, error) {
			info := workflow.GetInfo(wf)
			attempts[info.WorkflowID] = max(attempts[info.WorkflowID], info.Attempt)
			return 0, errRefused
		}, workflow.RetryPolicy(policy))
		e := w.start(failing)
		begin(t, e, failing, "served", 0)
		_, err := finish[int](t, e, "served")
		var exhausted *retry.ExhaustedError
		if !errors.As(err, &exhausted) || exhausted.Reason != retry.ReasonWithin || exhausted.Attempts != 3 || attempts["served"] != 3 {
			t.Errorf("after %d attempts: %v", attempts["served"], err)
		}
		begin(t, e, failing, "unserved", 0)
		pass(90 * time.Minute)
		stop(t, e)
		pass(61 * time.Minute)
		e = w.start(failing)
		_, err = finish[int](t, e, "unserved")
		if !errors.As(err, &exhausted) || exhausted.Reason != retry.ReasonWithin || exhausted.Attempts != 2 || attempts["unserved"] != 2 || !errors.Is(err, errRefused) {
			t.Errorf("after %d attempts: %v", attempts["unserved"], err)
		}
	})
}

// TestE44_ContinueAsNewBeginsAnew: a retried run that continues as new is followed
// by attempt 1, with all its time; a policy given at the start holds for all of
// the chain.
func TestE44_ContinueAsNewBeginsAnew(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		twice := workflow.Declare[int, string]("twice")
		var seen []string
		e := w.start(twice.Impl(func(wf *workflow.Context, n int) (string, error) {
			attempt := workflow.GetInfo(wf).Attempt
			if s := fmt.Sprint(n, ".", attempt); len(seen) == 0 || seen[len(seen)-1] != s {
				seen = append(seen, s)
			}
			if attempt < 3 || n == 2 {
				return "", errRefused
			}
			return workflow.ContinueAsNew(wf, twice, n+1)
		}))
		policy := exactRuns(3, time.Hour)
		policy.Within = 3 * time.Hour
		input, _ := history.Encode(1)
		if _, _, err := e.StartRun(t.Context(), request.Start{WorkflowID: "t", Type: "twice", Input: input, Settings: history.Settings{Retry: &policy}}); err != nil {
			t.Fatal(err)
		}
		_, err := finish[string](t, e, "t")
		var exhausted *retry.ExhaustedError
		if !errors.As(err, &exhausted) || exhausted.Attempts != 3 || exhausted.Reason != retry.ReasonMaxAttempts {
			t.Errorf("it ended with %v", err)
		}
		if got := strings.Join(seen, " "); got != "1.1 1.2 1.3 2.1 2.2 2.3" {
			t.Errorf("the attempts were %s", got)
		}
	})
}

// TestE44_PoliciesThatSayNothingAboutRuns are refused where they are given.
func TestE44_PoliciesThatSayNothingAboutRuns(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		bad := retry.Policy{AttemptTimeout: 1, HeartbeatTimeout: 1, QueueTimeout: 1, CrashLimit: 1, OnExhausted: retry.Pause, MaxAttempts: -1}
		fields := []string{"AttemptTimeout", "HeartbeatTimeout", "QueueTimeout", "CrashLimit", "OnExhausted", "MaxAttempts"}
		code := func(*workflow.Context, int) (int, error) { return 0, nil }
		c := w.config(workflow.New("bad", code, workflow.RetryPolicy(bad)))
		_, registered := engine.Open(context.Background(), c)
		e := w.start(workflow.New("good", code))
		_, _, started := e.StartRun(t.Context(), request.Start{WorkflowID: "x", Type: "good", Settings: history.Settings{Retry: &bad}})
		for _, field := range fields {
			for _, err := range []error{registered, started} {
				if err == nil || !strings.Contains(err.Error(), field) {
					t.Errorf("%s is accepted: %v", field, err)
				}
			}
		}
	})
}
