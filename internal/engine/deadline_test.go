package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// TestR31_ABodyKnowsItsAttempt: retry.FromContext says in an activity what
// package activity says, also in a later attempt.
func TestR31_ABodyKnowsItsAttempt(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var told []retry.AttemptInfo
		work := activity.New("work", func(ctx context.Context, _ int) (int, error) {
			got, ok := retry.FromContext(ctx)
			info, _ := activity.FromContext(ctx)
			want := retry.AttemptInfo{TraceID: info.CallID, ID: info.AttemptID, Number: info.Attempt, Max: info.Max, Final: info.Final}
			if !ok || got != want {
				t.Errorf("the body is told %+v, %t, want %+v", got, ok, want)
			}
			told = append(told, got)
			if info.Attempt < 3 {
				return 0, errors.New("again")
			}
			return 0, nil
		}, activity.Retry(retry.Policy{MaxAttempts: 3}))
		once := calls(work)
		e := w.start(once, work)
		complete(t, e, once, "run", 0)
		if len(told) != 3 {
			t.Fatalf("there were %d attempts", len(told))
		}
		for i, a := range told {
			if a.Number != i+1 || a.Max != 3 || a.Final != (i == 2) || a.TraceID != told[0].TraceID || a.ID != fmt.Sprint(a.TraceID, ".", i+1) {
				t.Errorf("attempt %d is told %+v", i+1, a)
			}
		}
	})
}

// named is an error whose type has its text as name.
type named string

func (e named) Error() string     { return string(e) }
func (e named) ErrorType() string { return string(e) }

// TestE26_ABodyKnowsWhatTheLatestFailureAllows: the attempts that a body is told are those
// of the rule for the latest failure, and "unlimited" is said as such. A run
// that is loaded again tells it too.
func TestE26_ABodyKnowsWhatTheLatestFailureAllows(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var told []string
		work := activity.New("work", func(ctx context.Context, _ int) (int, error) {
			info, _ := activity.FromContext(ctx)
			told = append(told, fmt.Sprintf("%s, %t", info.Progress(), info.Max == retry.Unlimited))
			switch info.Attempt {
			case 1:
				return 0, named("Busy")
			case 2:
				return 0, named("Slow")
			case 3:
				return 0, errors.New("again")
			}
			return 0, nil
		}, activity.Retry(retry.Policy{
			MaxAttempts: 4, Within: retry.Forever, Jitter: retry.NoJitter, Backoff: retry.Fixed(time.Minute),
			Rules: []retry.Rule{{Types: []string{"Busy"}, MaxAttempts: retry.Unlimited}, {Types: []string{"Slow"}, MaxAttempts: 7}},
		}))
		once := calls(work)
		e := w.start(once, work)
		complete(t, e, once, "run", 0)
		want := []string{"attempt 1, unlimited, true", "attempt 2, unlimited, true", "attempt 3 of 7, true", "attempt 4 of 4, true"}
		if !slices.Equal(told, want) {
			t.Errorf("the attempts were told %q, want %q", told, want)
		}
	})
}

// TestE25_ABodySeesItsDeadline: the context of an attempt ends when its time is
// up. A body that says so is a timeout, as one that says nothing is; without an
// AttemptTimeout there is no deadline.
func TestE25_ABodySeesItsDeadline(t *testing.T) {
	extent.Unwatched(t, "it varies errors")
	for name, body := range map[string]func(ctx context.Context) error{
		"its error":        func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"a wrapped error":  func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("reading: %w", ctx.Err()) },
		"its cause":        func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
		"some other error": func(ctx context.Context) error { <-ctx.Done(); return errors.New("connection reset") },
		"nothing":          func(context.Context) error { time.Sleep(time.Hour); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				work := activity.New("work", func(ctx context.Context, _ int) (int, error) {
					deadline, ok := ctx.Deadline()
					info, _ := activity.FromContext(ctx)
					if !ok || deadline != info.Started.Add(time.Minute) {
						t.Errorf("started at %s, the deadline is %s, %t", info.Started, deadline, ok)
					}
					return 0, body(ctx)
				}, activity.Retry(retry.Policy{AttemptTimeout: time.Minute, MaxAttempts: 2, Backoff: retry.None}))
				once := calls(work)
				e := w.start(once, work)
				began := time.Now()
				begin(t, e, once, "run", 0)
				demandEnd(t, e, "run")
				_, err := finish[int](t, e, "run")
				var timeout *retry.TimeoutError
				if !errors.As(err, &timeout) || timeout.Kind != retry.TimeoutAttempt || timeout.Limit != time.Minute {
					t.Errorf("got %v, want a timeout", err)
				}
				if took := time.Since(began); took != 2*time.Minute {
					t.Errorf("two attempts of a minute took %s", took)
				}
				if got := outcomes(t, e, "run"); got != "1.1 timed-out immediate Timeout, 1.2 timed-out max_attempts Timeout" {
					t.Errorf("the attempts are %s", got)
				}
				pass(2 * time.Hour) // until the body returned
				if err := e.Health(); err != nil {
					t.Error(err)
				}
			})
		})
	}
	t.Run("no limit", func(t *testing.T) {
		inBothModes(t, func(t *testing.T, w *world) {
			work := activity.New("work", func(ctx context.Context, _ int) (bool, error) {
				_, limited := ctx.Deadline()
				return limited, nil
			})
			once := calls(work)
			if complete(t, w.start(once, work), once, "run", 0) {
				t.Error("the body has a deadline")
			}
		})
	})
}

// TestE43_TimeoutDoesNotWaitForTheBody: a scope with a deadline is left when that
// passes, however long the activity in it goes on. What the activity says in the
// end is dropped, and its slot comes back.
func TestE43_TimeoutDoesNotWaitForTheBody(t *testing.T) {
	deaf := activity.New("deaf", func(context.Context, int) (int, error) { time.Sleep(time.Hour); return 0, nil })
	call := func(wf *workflow.Context) (int, error) { return workflow.Call(wf, deaf, 0) }
	for name, block := range map[string]func(wf *workflow.Context) (int, error){
		"Timeout": func(wf *workflow.Context) (int, error) { return workflow.Timeout(wf, time.Second, call) },
		"Retry": func(wf *workflow.Context) (int, error) {
			return workflow.Retry(wf, retry.Policy{MaxAttempts: 1, AttemptTimeout: time.Second}, call)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				order := workflow.New("order", func(wf *workflow.Context, _ int) (time.Duration, error) {
					began := workflow.Now(wf)
					_, err := block(wf)
					if timeout := new(retry.TimeoutError); !errors.As(err, &timeout) || timeout.Limit != time.Second {
						return 0, fmt.Errorf("%w, want a timeout", err)
					}
					return workflow.Now(wf).Sub(began), nil
				})
				config := w.config(order, holding, deaf, hold)
				config.Concurrency = 1
				e := w.startWith(config)
				began := time.Now()
				begin(t, e, order, "order", 0)
				demandEnd(t, e, "order")
				if took, err := finish[time.Duration](t, e, "order"); took != time.Second || err != nil || time.Since(began) != time.Second {
					t.Errorf("a second took %s for the code and %s for its caller; %v", took, time.Since(began), err)
				}
				events := fmt.Sprint(kindsOf(t, e, "order"))
				pass(time.Hour)
				if now := fmt.Sprint(kindsOf(t, e, "order")); now != events {
					t.Errorf("when the body returned, the history became %s, it was %s", now, events)
				}
				if got := outcomes(t, e, "order"); got != map[string]string{"Timeout": "2.1 canceled canceled", "Retry": "3.1 canceled canceled"}[name] {
					t.Errorf("the attempts are %s", got)
				}
				demandSlots(t, e, 1)
			})
		})
	}
}

// TestR7_ATimeFarAwayIsCapped: an error may ask for any time. One in a far year
// is capped as any other delay, one in a far past is now.
func TestR7_ATimeFarAwayIsCapped(t *testing.T) {
	for year, want := range map[int]time.Duration{3000: time.Hour, 9999: time.Hour, 1500: 0, 2: 0} {
		t.Run(fmt.Sprint(year), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				var at []time.Time
				work := activity.New("work", func(context.Context, int) (int, error) {
					at = append(at, time.Now())
					return 0, retry.AfterTime(errors.New("busy"), time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC))
				}, activity.Retry(retry.Policy{MaxAttempts: 3, Jitter: retry.NoJitter}))
				once := calls(work)
				e := w.start(once, work)
				begin(t, e, once, "run", 0)
				demandEnd(t, e, "run")
				if _, err := finish[int](t, e, "run"); err == nil {
					t.Error("it succeeded")
				}
				if len(at) != 3 || at[1].Sub(at[0]) != want || at[2].Sub(at[1]) != want {
					t.Errorf("the attempts were at %v, want %s between them", at, want)
				}
			})
		})
	}
}

// TestE45_CancelEndsAWaitForAChannel: no value will be sent, because the coroutine that would
// send it is canceled, too. Select and WaitAny return -1, WaitAll returns the reason, and the
// run ends immediately.
func TestE45_CancelEndsAWaitForAChannel(t *testing.T) {
	for name, wait := range map[string]func(wf *workflow.Context, c workflow.Waitable) error{
		"Select":  func(wf *workflow.Context, c workflow.Waitable) error { return winner(workflow.Select(wf, c)) },
		"WaitAny": func(wf *workflow.Context, c workflow.Waitable) error { return winner(workflow.WaitAny(wf, c)) },
		"WaitAll": func(wf *workflow.Context, c workflow.Waitable) error {
			if err := workflow.WaitAll(wf, c); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("WaitAll: %w", err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				order := workflow.New("order", func(wf *workflow.Context, _ int) (int, error) {
					ch := workflow.NewChannel[int](wf, 0)
					workflow.Go(wf, func(wf *workflow.Context) {
						if workflow.Sleep(wf, time.Hour) == nil {
							ch.Send(wf, 1)
						}
					})
					if err := wait(wf, ch.Receivable()); err != nil {
						return 0, err
					}
					return ch.Receive(wf)
				})
				e := w.start(order)
				begin(t, e, order, "order", 0)
				pass(time.Minute)
				if err := e.Cancel(t.Context(), "order", "", request.By{Why: "enough"}); err != nil {
					t.Fatal(err)
				}
				settle()
				if d := describe(t, e, "order"); d.Status != "canceled" {
					t.Fatalf("the run is %s (%s), %+v is open", d.Status, d.Reason, d.Pending)
				}
				if _, err := finish[int](t, e, "order"); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// winner is an error unless nobody won.
func winner(n int) error {
	if n != -1 {
		return fmt.Errorf("number %d has won", n)
	}
	return nil
}

// TestE45_OneCoroutineCancelsTheScopeOfAnother: the wait of the other ends in the
// same turn, and a replay does the same.
func TestE45_OneCoroutineCancelsTheScopeOfAnother(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		order := workflow.New("order", func(wf *workflow.Context, _ int) (int, error) {
			work, cancel := workflow.WithCancel(wf)
			workflow.Go(wf, func(wf *workflow.Context) {
				if _, err := workflow.Receive(wf, proceed); err == nil {
					cancel()
				}
			})
			if err := workflow.Sleep(work, 24*time.Hour); !errors.Is(err, context.Canceled) {
				return 0, fmt.Errorf("the sleep ended with %w", err)
			}
			return workflow.Call(wf, reserve, 1) // outside of the scope
		})
		e := w.start(order, reserve)
		began := time.Now()
		begin(t, e, order, "order", 0)
		pass(time.Hour)
		signal(t, e, "order", "proceed", "", "now")
		demandEnd(t, e, "order")
		if got, err := finish[int](t, e, "order"); got != 2 || err != nil || time.Since(began) != time.Hour {
			t.Errorf("after %s: %d, %v", time.Since(began), got, err)
		}
	})
}
