package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// position is what the bodies of these tests say of their progress.
type position struct{ Done int }

// walk is a body that does so many things, one a second, says after each how far
// it has come, and begins where an earlier attempt was. It ends early where stop
// says so.
func walk(things int, stop func(attempt, done int) error) activity.Func[int, string] {
	return func(ctx context.Context, _ int) (string, error) {
		info, _ := activity.FromContext(ctx)
		from, found, err := activity.Details[position](ctx)
		if err != nil {
			return "", err
		}
		if found == (info.Attempt == 1) {
			return "", retry.Terminal(fmt.Errorf("attempt %d found details: %t", info.Attempt, found))
		}
		for done := from.Done; done < things; {
			if err := busy(ctx, time.Second); err != nil {
				return "", err
			}
			done++
			if err := activity.Heartbeat(ctx, position{done}); err != nil {
				return "", err
			}
			if err := stop(info.Attempt, done); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("%d to %d", from.Done, things), nil
	}
}

// beating is a policy with a heartbeat timeout.
func beating(d time.Duration) activity.Option {
	return activity.Retry(retry.Policy{HeartbeatTimeout: d, MaxAttempts: 3, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter})
}

// TestE24_TheNextAttemptIsToldWhatAFailedOneSaid: also what no interval was over
// for. The first attempt is told nothing.
func TestE24_TheNextAttemptIsToldWhatAFailedOneSaid(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		work := activity.New("work", walk(10, func(attempt, done int) error {
			if attempt < 3 && done == 3*attempt+1 {
				return errors.New("stumbled")
			}
			return nil
		}), beating(time.Minute))
		flow := calls(work)
		e := w.start(flow, work)
		began := time.Now()
		begin(t, e, flow, "run", 0)
		pass(30 * time.Second) // in its first backoff
		p := onlyCall(t, e, "run")
		if p.State != "backoff" || p.Heartbeat == nil || p.Heartbeat.String() != `{"Done":4}` || p.LastHeartbeat == nil || p.LastHeartbeat.Sub(began) != 4*time.Second {
			t.Errorf("in its backoff the call is %+v", p)
		}
		if got, err := finish[string](t, e, "run"); got != "7 to 10" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// TestE24_SilenceFailsTheAttempt: a body that gives no sign of life is given up
// when its heartbeat timeout is over, whether or not it cares, and the next one is
// told what it said last. Its context says why.
func TestE24_SilenceFailsTheAttempt(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var cause error
		work := activity.New("work", func(ctx context.Context, _ int) (string, error) {
			from, found, err := activity.Details[position](ctx)
			if err != nil || found {
				return fmt.Sprint(from.Done), err
			}
			time.Sleep(4 * time.Second)
			if err := activity.Heartbeat(ctx, position{7}); err != nil {
				t.Errorf("a heartbeat in time: %v", err)
			}
			time.Sleep(time.Minute)
			cause = activity.Heartbeat(ctx, position{8}) // too late
			return "late", nil
		}, beating(5*time.Second))
		flow := calls(work)
		e := w.start(flow, work)
		began := time.Now()
		if got := complete(t, e, flow, "run", 0); got != "7" {
			t.Errorf("the second attempt was told %s, want 7", got)
		}
		if took := time.Since(began); took != 69*time.Second {
			t.Errorf("it took %s, want 4s and 5s of silence and 1m of backoff", took)
		}
		pass(time.Minute)
		var timeout *retry.TimeoutError
		if !errors.As(cause, &timeout) || timeout.Kind != retry.TimeoutHeartbeat || timeout.Limit != 5*time.Second {
			t.Errorf("the late heartbeat answers %v", cause)
		}
		if got := outcomes(t, e, "run"); got != "1.1 timed-out backoff HeartbeatTimeout, 1.2 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestE24_SilenceIsJudgedByThePolicy: by OnTimeout and by rules for its type.
func TestE24_SilenceIsJudgedByThePolicy(t *testing.T) {
	for name, test := range map[string]struct {
		policy retry.Policy
		want   string
	}{
		"stop": {retry.Policy{HeartbeatTimeout: time.Second, OnTimeout: retry.StopOnTimeout}, "1.1 timed-out timeout HeartbeatTimeout"},
		"rule": {retry.Policy{HeartbeatTimeout: time.Second, OnTimeout: retry.StopOnTimeout, Backoff: retry.None, Rules: []retry.Rule{{Types: []string{"HeartbeatTimeout"}, MaxAttempts: 2}}},
			"1.1 timed-out immediate HeartbeatTimeout, 1.2 timed-out max_attempts HeartbeatTimeout"},
	} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				work := activity.New("work", func(ctx context.Context, _ int) (string, error) {
					<-ctx.Done()
					return "", ctx.Err()
				}, activity.Retry(test.policy))
				flow := calls(work)
				e := w.start(flow, work)
				begin(t, e, flow, "run", 0)
				_, err := finish[string](t, e, "run")
				var timeout *retry.TimeoutError
				if !errors.As(err, &timeout) || timeout.Kind != retry.TimeoutHeartbeat {
					t.Errorf("got %v, want a heartbeat timeout", err)
				}
				if got := outcomes(t, e, "run"); got != test.want {
					t.Errorf("the attempts are %s, want %s", got, test.want)
				}
			})
		})
	}
}

// TestE24_HeartbeatsAreCoalesced: a thousand of them in a minute cost a write each
// third of the timeout, short attempts cost none, and what is on record is never
// older than that.
func TestE24_HeartbeatsAreCoalesced(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, things int) (int, error) {
			for i := range things {
				if err := activity.Heartbeat(ctx, position{i}); err != nil {
					return 0, err
				}
				time.Sleep(70 * time.Millisecond)
			}
			return things, nil
		}, beating(9*time.Second))
		flow := calls(work)
		e := w.start(flow, work)
		plan := w.plans[e]
		before := plan.Writes()
		complete(t, e, flow, "short", 42) // 2.94 s
		if got := plan.Writes() - before; got != 2 {
			t.Errorf("a run of one short call made %d writes, want 2", got)
		}
		before = plan.Writes()
		begin(t, e, flow, "long", 1000) // 70 s
		pass(15*time.Second + 30*time.Millisecond)
		p := onlyCall(t, e, "long")
		if p.Heartbeat == nil || p.Heartbeat.String() != `{"Done":214}` || p.State != "running" || p.Attempt != 1 || p.Node == "" {
			t.Errorf("after 15 s the call is %+v", p)
		}
		if _, err := finish[int](t, e, "long"); err != nil {
			t.Error(err)
		}
		if got := plan.Writes() - before; got != 2+23 {
			t.Errorf("a run of one call of 70 s made %d writes, want 2 and one each 3 s", got)
		}
	})
}

// TestE24_DetailsSurviveAKill: the next attempt is told what the run was told last,
// one interval before the process died at most: after 7.8 s that seven are done.
func TestE24_DetailsSurviveAKill(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		work := activity.New("work", walk(20, func(int, int) error { return nil }), beating(3900*time.Millisecond))
		flow := calls(work)
		a := w.start(flow, work)
		begin(t, a, flow, "run", 0)
		pass(9050 * time.Millisecond)
		w.kill(a)
		b := w.start(flow, work)
		if got, err := finish[string](t, b, "run"); got != "7 to 20" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		if got := outcomes(t, b, "run"); got != "1.1 lost worker_lost, 1.2 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestE24_DetailsSurviveADrain: to the last word.
func TestE24_DetailsSurviveADrain(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		work := activity.New("work", walk(20, func(int, int) error { return nil }), beating(time.Minute))
		flow := calls(work)
		a := w.start(flow, work)
		begin(t, a, flow, "run", 0)
		pass(9500 * time.Millisecond)
		stop(t, a)
		b := w.start(flow, work)
		if got, err := finish[string](t, b, "run"); got != "9 to 20" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		if got := outcomes(t, b, "run"); got != "1.1 drained drained, 1.2 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestE24_AnOutageIsNoSilence: while the database is away, attempts are alive by
// what they say; it is on record as soon as that is possible.
func TestE24_AnOutageIsNoSilence(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		work := activity.New("work", walk(200, func(int, int) error { return nil }), beating(3*time.Second))
		flow := calls(work)
		e := w.start(flow, work)
		begin(t, e, flow, "run", 0)
		pass(10 * time.Second)
		w.plans[e].Outage(true)
		pass(2 * time.Minute)
		w.plans[e].Outage(false)
		pass(3 * time.Second)
		if p := onlyCall(t, e, "run"); p.State != "running" || p.Attempt != 1 || p.Heartbeat == nil || !strings.Contains(p.Heartbeat.String(), `{"Done":13`) {
			t.Errorf("after the outage the call is %+v", p)
		}
		if got, err := finish[string](t, e, "run"); got != "0 to 200" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// TestE24_TheBodyIsToldThatItIsUnwanted: by the error of a heartbeat, when the call
// is canceled, its run is ended, or it lost a race.
func TestE24_TheBodyIsToldThatItIsUnwanted(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, e *engine.Engine){
		"canceled":   func(t *testing.T, e *engine.Engine) { demand(t, e.Cancel(t.Context(), "run", "", request.By{})) },
		"terminated": func(t *testing.T, e *engine.Engine) { demand(t, e.Terminate(t.Context(), "run", "", request.By{})) },
		"a lost race": func(*testing.T, *engine.Engine) {
			time.Sleep(50 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				var told error
				work := activity.New("work", func(ctx context.Context, _ int) (string, error) {
					for told == nil {
						time.Sleep(time.Second)
						told = activity.Heartbeat(ctx, "on my way")
					}
					return "", told
				}, beating(10*time.Second))
				flow := workflow.New("race", func(wf *workflow.Context, _ int) (string, error) {
					out := workflow.Async(wf, work, 0)
					if workflow.Select(wf, out, workflow.NewTimer(wf, time.Minute)) == 1 {
						return "the timer", nil
					}
					return out.Get(wf)
				})
				e := w.start(flow, work)
				begin(t, e, flow, "run", 0)
				pass(20 * time.Second)
				end(t, e)
				pass(11 * time.Second)
				var canceled *workflow.CancelError
				if !errors.As(told, &canceled) {
					t.Errorf("the body was told %v", told)
				}
				if d := describe(t, e, "run"); d.Status == "running" {
					t.Error("the run goes on")
				}
			})
		})
	}
}

// demand is for calls that must not fail.
func demand(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestE24_HeartbeatsInSteps: an inline step has heartbeats like any activity.
func TestE24_HeartbeatsInSteps(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (string, error) {
			body := walk(6, func(attempt, done int) error {
				if attempt == 1 && done == 4 {
					return errors.New("stumbled")
				}
				return nil
			})
			return workflow.Do(wf, "step", func(ctx context.Context) (string, error) { return body(ctx, n) }, beating(2*time.Second))
		})
		e := w.start(flow)
		if got := complete(t, e, flow, "run", 0); got != "4 to 6" {
			t.Errorf("got %q", got)
		}
	})
}

// TestE24_DetailsAreTyped: what does not fit is an error, and so is what cannot be
// encoded; nothing of it ends the attempt by itself.
func TestE24_DetailsAreTyped(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, _ int) (string, error) {
			if info, _ := activity.FromContext(ctx); info.Attempt == 1 {
				if err := activity.Heartbeat(ctx, func() {}); err == nil || !strings.Contains(err.Error(), `heartbeat of "work"`) {
					t.Errorf("a function was taken as details: %v", err)
				}
				if err := activity.Heartbeat(ctx, "half"); err != nil {
					t.Error(err)
				}
				if err := activity.Heartbeat[any](ctx, nil); err != nil { // says nothing else
					t.Error(err)
				}
				return "", errors.New("again")
			}
			if n, ok, err := activity.Details[int](ctx); ok || err == nil {
				t.Errorf("a text was read as the number %d", n)
			}
			text, ok, err := activity.Details[string](ctx)
			if !ok {
				t.Error("there are no details")
			}
			return text, err
		})
		flow := calls(work)
		e := w.start(flow, work)
		if got := complete(t, e, flow, "run", 0); got != "half" {
			t.Errorf("got %q", got)
		}
	})
}

// TestR31_OneHeartbeatServesBoth: retry.Heartbeat keeps an activity alive, and
// activity.Heartbeat an attempt of retry.Do inside of one, and the other way round.
func TestR31_OneHeartbeatServesBoth(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, _ int) (int, error) {
			return retry.Value(ctx, retry.Policy{HeartbeatTimeout: 2 * time.Second}, func(ctx context.Context) (int, error) {
				for i := range 10 {
					if err := busy(ctx, 1500*time.Millisecond); err != nil {
						return 0, err
					}
					if i%2 == 0 {
						retry.Heartbeat(ctx)
					} else if err := activity.Heartbeat(ctx, i); err != nil {
						return 0, err
					}
				}
				info, _ := retry.FromContext(ctx)
				return info.Number, nil
			})
		}, beating(2*time.Second))
		flow := calls(work)
		e := w.start(flow, work)
		if got := complete(t, e, flow, "run", 0); got != 1 {
			t.Errorf("attempt %d succeeded", got)
		}
		if got := outcomes(t, e, "run"); got != "1.1 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestE7_AZombiesHeartbeatIsRefused: what a body says on a node that lost its run
// changes nothing, and the body is told.
func TestE7_AZombiesHeartbeatIsRefused(t *testing.T) {
	needsFencing.inAGroupOf(t, 1, func(t *testing.T, w *world) {
		told := make(chan error, 1)
		flow := workflow.Declare[int, string]("flow")
		definitions := func(node string, body func(ctx context.Context) (string, error)) []any {
			work := activity.New("work", func(ctx context.Context, _ int) (string, error) { return body(ctx) }, beating(3*time.Second))
			return []any{work, flow.Impl(func(wf *workflow.Context, n int) (string, error) { return workflow.Call(wf, work, n) })}
		}
		a := w.node("a", definitions("a", func(ctx context.Context) (string, error) {
			for done := 1; ; done++ {
				time.Sleep(700 * time.Millisecond)
				if err := activity.Heartbeat(ctx, position{done}); err != nil {
					told <- err
					return "", err
				}
			}
		})...)
		begin(t, a, flow, "run", 0)
		pass(10100 * time.Millisecond)
		w.plans[a].Outage(true)
		b := w.node("b", definitions("b", func(ctx context.Context) (string, error) {
			from, _, err := activity.Details[position](ctx)
			for range 60 {
				time.Sleep(time.Second)
				retry.Heartbeat(ctx)
			}
			return fmt.Sprint(from.Done), err
		})...)
		pass(20 * time.Second)
		w.plans[a].Outage(false)
		pass(10 * time.Second)
		select {
		case err := <-told:
			if !errors.Is(err, store.ErrFenced) {
				t.Errorf("the body was told %v", err)
			}
		default:
			t.Error("the body was not told")
		}
		p := onlyCall(t, b, "run")
		if p.Attempt != 2 || p.Heartbeat == nil || p.Heartbeat.String() != `{"Done":14}` || p.LastHeartbeat.Before(*p.Started) {
			t.Errorf("the call is %+v", p)
		}
		if got, err := finish[string](t, b, "run"); got != "14" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
