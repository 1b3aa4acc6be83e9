package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// desk is an activity whose attempts are completed from outside, and the tokens
// that it has given out.
type desk struct {
	mu       sync.Mutex
	tokens   map[string]string // by attempt ID without the run: CALL.ATTEMPT
	told     []string          // what attempts were told that earlier ones had said
	activity activity.Activity[int, string]
	flow     workflow.Workflow[int, string]
}

func newDesk(p retry.Policy) *desk {
	d := &desk{tokens: map[string]string{}}
	d.activity = activity.New("ask", d.ask, activity.Retry(p))
	d.flow = calls(d.activity)
	return d
}

func (d *desk) ask(ctx context.Context, n int) (string, error) {
	info, _ := activity.FromContext(ctx)
	said, _, err := activity.Details[string](ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tokens[fmt.Sprintf("%s.%d", info.WorkflowID, info.Attempt)] = activity.Token(ctx)
	d.told = append(d.told, said)
	return "", errors.Join(err, activity.ErrPending)
}

// token is that of an attempt of the only call of a run.
func (d *desk) token(t *testing.T, run string, attempt int) string {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	token := d.tokens[fmt.Sprintf("%s.%d", run, attempt)]
	if token == "" {
		t.Fatalf("attempt %d of %q has no token", attempt, run)
	}
	return token
}

func say(t *testing.T, e *engine.Engine, token, result string) error {
	t.Helper()
	payload, err := history.Encode(result)
	if err != nil {
		t.Fatal(err)
	}
	return e.CompleteAttempt(t.Context(), token, payload)
}

func beatOutside(t *testing.T, e *engine.Engine, token string, details any) error {
	t.Helper()
	payload, err := history.Encode(details)
	if err != nil {
		t.Fatal(err)
	}
	return e.HeartbeatAttempt(t.Context(), token, payload)
}

func fail(t *testing.T, e *engine.Engine, token string, err error) error {
	t.Helper()
	return e.FailAttempt(t.Context(), token, history.FromError(err))
}

func isError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || (want == nil) != (err == nil) {
		t.Errorf("got the error %v, want %v", err, want)
	}
}

var patient = retry.Policy{AttemptTimeout: time.Hour, MaxAttempts: 3, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}

// TestE29_AnyProcessCompletes: with the token alone, also one without the code. The
// attempt holds no slot and keeps its run neither busy nor in memory.
func TestE29_AnyProcessCompletes(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		d := newDesk(patient)
		c := w.config(d.flow, d.activity)
		c.Concurrency = 1
		e := w.startWith(c)
		const runs = 20
		for i := range runs {
			begin(t, e, d.flow, fmt.Sprint(i), i)
		}
		pass(10 * time.Minute)
		if holds := engine.Holds(e); holds != "" {
			t.Errorf("the engine holds %s", holds)
		}
		p := onlyCall(t, e, "7")
		if p.State != "external" || p.Attempt != 1 || p.TimesOut == nil || p.TimesOut.Sub(*p.Started) != time.Hour {
			t.Errorf("the call is %+v", p)
		}
		if got := outcomes(t, e, "7"); got != "1.1 external" {
			t.Errorf("the attempts are %s", got)
		}
		other := e
		if w.in.shared {
			other = w.open(w.config())
		}
		for i := range runs {
			isError(t, say(t, other, d.token(t, fmt.Sprint(i), 1), fmt.Sprint("yes ", i)), nil)
		}
		for i := range runs {
			if got, err := finish[string](t, e, fmt.Sprint(i)); got != fmt.Sprint("yes ", i) || err != nil {
				t.Errorf("run %d: %q, %v", i, got, err)
			}
		}
		if got := outcomes(t, e, "7"); got != "1.1 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestE29_FailuresAreJudgedByThePolicy: a failure from outside leads to another
// attempt with another token; the old one is stale.
func TestE29_FailuresAreJudgedByThePolicy(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		d := newDesk(patient)
		e := w.start(d.flow, d.activity)
		begin(t, e, d.flow, "run", 0)
		pass(time.Minute)
		first := d.token(t, "run", 1)
		isError(t, fail(t, e, first, errRefused), nil)
		settle()
		if p := onlyCall(t, e, "run"); p.State != "backoff" || p.Attempt != 2 || p.LastError != "refused" || p.Next.Sub(p.Scheduled) != 2*time.Minute {
			t.Errorf("the call is %+v", p)
		}
		isError(t, fail(t, e, first, errRefused), nil) // once more is not another failure
		isError(t, say(t, e, first, "after all"), request.ErrStaleToken)
		pass(2 * time.Minute)
		isError(t, say(t, e, first, "after all"), request.ErrStaleToken)
		isError(t, beatOutside(t, e, first, "here"), request.ErrStaleToken)
		isError(t, fail(t, e, d.token(t, "run", 2), retry.Terminal(errRefused)), nil)
		_, err := finish[string](t, e, "run")
		isError(t, err, errRefused)
		if got := outcomes(t, e, "run"); got != "1.1 failed backoff crash_test.refused, 1.2 failed terminal crash_test.refused" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestE29_SayingItAgainIsSayingItOnce: also when the run has ended; saying something
// else is too late.
func TestE29_SayingItAgainIsSayingItOnce(t *testing.T) {
	needsTransactions.inBothModes(t, func(t *testing.T, w *world) {
		d := newDesk(patient)
		e := w.start(d.flow, d.activity)
		begin(t, e, d.flow, "run", 0)
		settle()
		token := d.token(t, "run", 1)
		isError(t, say(t, e, token, "yes"), nil)
		isError(t, say(t, e, token, "yes"), nil)
		if got, err := finish[string](t, e, "run"); got != "yes" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		isError(t, say(t, e, token, "yes"), nil)
		isError(t, fail(t, e, token, errRefused), request.ErrStaleToken)
		isError(t, beatOutside(t, e, token, 1), request.ErrStaleToken)
		pass(time.Minute)
		if got := outcomes(t, e, "run"); got != "1.1 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestE29_SayingItAgainMayOvertake: the same end, said twice at the same time, succeeds
// twice although the run ends before the message of the slower one arrives.
func TestE29_SayingItAgainMayOvertake(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		d := newDesk(patient)
		e := w.start(d.flow, d.activity)
		begin(t, e, d.flow, "run", 0)
		settle()
		token := d.token(t, "run", 1)
		w.plans[e].At(w.plans[e].Writes()+1, faulty.Slow(time.Minute))
		slow := make(chan error, 1)
		go func() { slow <- say(t, e, token, "yes") }()
		settle()
		isError(t, say(t, e, token, "yes"), nil)
		if got, err := finish[string](t, e, "run"); got != "yes" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		isError(t, <-slow, nil)
	})
}

// TestE29_TimeoutsHold: an external attempt times out even if no engine has it in memory.
// Heartbeats from outside postpone the heartbeat timeout, and the next attempt gets their
// details.
func TestE29_TimeoutsHold(t *testing.T) {
	for name, test := range map[string]struct {
		policy retry.Policy
		beats  int // one each 40 s
		took   time.Duration
		kind   retry.TimeoutKind
	}{
		"attempt":              {retry.Policy{AttemptTimeout: 10 * time.Minute, OnTimeout: retry.StopOnTimeout}, 3, 10 * time.Minute, retry.TimeoutAttempt},
		"silence":              {retry.Policy{HeartbeatTimeout: time.Minute, OnTimeout: retry.StopOnTimeout}, 0, time.Minute, retry.TimeoutHeartbeat},
		"silence after a time": {retry.Policy{HeartbeatTimeout: time.Minute, AttemptTimeout: time.Hour, OnTimeout: retry.StopOnTimeout}, 6, 5 * time.Minute, retry.TimeoutHeartbeat},
		"attempt before that":  {retry.Policy{HeartbeatTimeout: time.Minute, AttemptTimeout: 130 * time.Second, OnTimeout: retry.StopOnTimeout}, 3, 130 * time.Second, retry.TimeoutAttempt},
	} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				d := newDesk(test.policy)
				e := w.start(d.flow, d.activity)
				began := time.Now()
				begin(t, e, d.flow, "run", 0)
				for i := range test.beats {
					pass(40 * time.Second)
					isError(t, beatOutside(t, e, d.token(t, "run", 1), i), nil)
				}
				_, err := finish[string](t, e, "run")
				var timeout *retry.TimeoutError
				if !errors.As(err, &timeout) || timeout.Kind != test.kind {
					t.Errorf("got %v, want the timeout %q", err, test.kind)
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("it took %s, want %s", took, test.took)
				}
				isError(t, say(t, e, d.token(t, "run", 1), "late"), request.ErrStaleToken)
			})
		})
	}
}

// TestE29_OfTwoEndsTheFirstCounts: while no owner reads, both are taken.
func TestE29_OfTwoEndsTheFirstCounts(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		for _, first := range []string{"completed", "failed"} {
			d := newDesk(retry.Policy{MaxAttempts: 1, AttemptTimeout: time.Hour})
			e := w.start(d.flow, d.activity)
			begin(t, e, d.flow, first, 0)
			settle()
			w.kill(e)
			client := w.open(w.config())
			if first == "failed" {
				isError(t, fail(t, client, d.token(t, first, 1), errRefused), nil)
			}
			isError(t, say(t, client, d.token(t, first, 1), "yes"), nil)
			isError(t, fail(t, client, d.token(t, first, 1), errRefused), nil)
			stop(t, client)
			e = w.start(d.flow, d.activity)
			settle()
			same(t, "it has", attemptsOf(t, e, first)[0].Outcome, first)
			isError(t, say(t, e, d.token(t, first, 1), "yes"), map[string]error{"failed": request.ErrStaleToken}[first])
			stop(t, e)
		}
	})
}

// TestE29_HeartbeatsFromOutsideDoNotPileUp: while no owner reads, what is said last takes
// the place of what was said before; the end of the attempt waits beside it.
func TestE29_HeartbeatsFromOutsideDoNotPileUp(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		d := newDesk(patient)
		e := w.start(d.flow, d.activity)
		begin(t, e, d.flow, "run", 0)
		settle()
		w.kill(e)
		client := w.open(w.config())
		for i := range 20 {
			isError(t, beatOutside(t, client, d.token(t, "run", 1), i), nil)
			isError(t, client.HeartbeatAttempt(t.Context(), d.token(t, "run", 1), history.Payload{}), nil)
			pass(time.Second)
		}
		isError(t, fail(t, client, d.token(t, "run", 1), errRefused), nil)
		isError(t, beatOutside(t, client, d.token(t, "run", 1), "too late"), nil)
		isError(t, beatOutside(t, client, d.token(t, "run", 1), "19"), nil)
		stop(t, client)
		s, err := w.bare.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		waiting, err := s.Inbox(t.Context(), []int{0}, store.InboxRead{})
		if err = errors.Join(err, s.Close()); err != nil || len(waiting) != 3 {
			t.Errorf("%d messages wait, %v", len(waiting), err)
		}
		e = w.start(d.flow, d.activity)
		pass(2 * time.Minute)
		isError(t, say(t, e, d.token(t, "run", 2), "yes"), nil)
		if got, err := finish[string](t, e, "run"); got != "yes" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// TestE29_TheNextAttemptIsToldWhatWasSaidOutside.
func TestE29_TheNextAttemptIsToldWhatWasSaidOutside(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		d := newDesk(patient)
		e := w.start(d.flow, d.activity)
		begin(t, e, d.flow, "run", 0)
		settle()
		isError(t, beatOutside(t, e, d.token(t, "run", 1), "half"), nil)
		isError(t, e.HeartbeatAttempt(t.Context(), d.token(t, "run", 1), history.Payload{}), nil) // says nothing else
		settle()
		if p := onlyCall(t, e, "run"); p.Heartbeat == nil || p.Heartbeat.String() != `"half"` {
			t.Errorf("the call is %+v", p)
		}
		isError(t, fail(t, e, d.token(t, "run", 1), errRefused), nil)
		pass(2 * time.Minute)
		isError(t, say(t, e, d.token(t, "run", 2), "yes"), nil)
		if got, err := finish[string](t, e, "run"); got != "yes" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		if fmt.Sprint(d.told) != "[ half]" {
			t.Errorf("the attempts were told %q", d.told)
		}
	})
}

// TestE29_ATimeoutIsMandatory: without a timeout, a body that returns ErrPending would be
// waited for indefinitely. The call fails permanently and the error says what to do.
func TestE29_ATimeoutIsMandatory(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		d := newDesk(retry.Policy{Within: time.Hour, QueueTimeout: time.Hour})
		e := w.start(d.flow, d.activity)
		begin(t, e, d.flow, "run", 0)
		_, err := finish[string](t, e, "run")
		want := `"ask" returned activity.ErrPending, but its policy has neither an AttemptTimeout nor a HeartbeatTimeout: an attempt that is never completed would stay open forever; set one of them`
		if err == nil || err.Error() != want || !retry.IsTerminal(err) {
			t.Errorf("got %v, want %s", err, want)
		}
		isError(t, say(t, e, d.token(t, "run", 1), "yes"), request.ErrStaleToken)
	})
}

// TestE29_TakeoverLosesNothing: an external attempt is of no node.
func TestE29_TakeoverLosesNothing(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		d := newDesk(retry.Policy{AttemptTimeout: time.Hour, CrashLimit: 1})
		a := w.start(d.flow, d.activity)
		begin(t, a, d.flow, "run", 0)
		pass(time.Minute)
		w.kill(a)
		b := w.start(d.flow, d.activity)
		pass(time.Minute)
		if p := onlyCall(t, b, "run"); p.State != "external" || p.Attempt != 1 || p.TimesOut.Sub(p.Scheduled) != time.Hour {
			t.Errorf("after the takeover the call is %+v", p)
		}
		isError(t, say(t, b, d.token(t, "run", 1), "yes"), nil)
		if got, err := finish[string](t, b, "run"); got != "yes" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		if got := outcomes(t, b, "run"); got != "1.1 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestE29_WhatCameInTimeCounts: whether an attempt was completed in time does not
// depend on whether anybody served its run just then.
func TestE29_WhatCameInTimeCounts(t *testing.T) {
	for name, test := range map[string]struct {
		said time.Duration
		want string
	}{
		"in time":  {30 * time.Minute, "1.1 completed succeeded"},
		"too late": {90 * time.Minute, "1.1 timed-out timeout Timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			needsTransactions.inBothModesShared(t, 1, func(t *testing.T, w *world) {
				p := patient
				p.OnTimeout = retry.StopOnTimeout
				d := newDesk(p)
				a := w.start(d.flow, d.activity)
				begin(t, a, d.flow, "run", 0)
				settle()
				stop(t, a)
				client := w.open(w.config())
				pass(test.said)
				isError(t, say(t, client, d.token(t, "run", 1), "yes"), nil)
				pass(time.Hour)
				b := w.start(d.flow, d.activity)
				pass(time.Minute)
				if got := outcomes(t, b, "run"); got != test.want {
					t.Errorf("the attempts are %s, want %s", got, test.want)
				}
			})
		})
	}
}

// TestE29_TheOtherSideMayBeQuick: an attempt can be completed before its body has
// returned. The body is told, and what it returns is dropped.
func TestE29_TheOtherSideMayBeQuick(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(t *testing.T, e *engine.Engine, token string) error
		want string
	}{
		"success": {func(t *testing.T, e *engine.Engine, token string) error { return say(t, e, token, "quick") },
			"1.1 completed succeeded"},
		"failure": {func(t *testing.T, e *engine.Engine, token string) error { return fail(t, e, token, errRefused) },
			"1.1 failed backoff crash_test.refused, 1.2 completed succeeded"},
	} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				tokens := make(chan string, 2)
				var cause error
				work := activity.New("work", func(ctx context.Context, _ int) (string, error) {
					info, _ := activity.FromContext(ctx)
					tokens <- activity.Token(ctx)
					if info.Attempt == 2 {
						return "quick", nil
					}
					_ = busy(ctx, 30*time.Second)
					cause = context.Cause(ctx)
					return "", activity.ErrPending
				}, activity.Retry(patient))
				flow := calls(work)
				e := w.start(flow, work)
				begin(t, e, flow, "run", 0)
				pass(time.Second)
				isError(t, test.end(t, e, <-tokens), nil)
				settle()
				if cause == nil {
					t.Error("the body was not told")
				}
				if got, err := finish[string](t, e, "run"); got != "quick" || err != nil {
					t.Errorf("got %q, %v", got, err)
				}
				if got := outcomes(t, e, "run"); got != test.want {
					t.Errorf("the attempts are %s, want %s", got, test.want)
				}
			})
		})
	}
}

// TestE29_CanceledOutside: canceling ends an external attempt immediately, because no body
// here could be asked to end. The process that works on it learns of it.
func TestE29_CanceledOutside(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		d := newDesk(patient)
		e := w.start(d.flow, d.activity)
		begin(t, e, d.flow, "run", 0)
		pass(time.Minute)
		demand(t, e.Cancel(t.Context(), "run", "", request.By{Why: "enough"}))
		_, err := finish[string](t, e, "run")
		var aborted *retry.AbortedError
		if !errors.As(err, &aborted) || aborted.Attempt != 1 || aborted.Phase != retry.PhaseExecution {
			t.Errorf("got %v", err)
		}
		isError(t, beatOutside(t, e, d.token(t, "run", 1), 1), request.ErrStaleToken)
		isError(t, say(t, e, d.token(t, "run", 1), "yes"), request.ErrStaleToken)
		if got := outcomes(t, e, "run"); got != "1.1 canceled canceled" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestE29_Steps: an inline step can go on outside too.
func TestE29_Steps(t *testing.T) {
	needsHooks.inBothModes(t, func(t *testing.T, w *world) {
		d := newDesk(patient)
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (string, error) {
			return workflow.Do(wf, "step", func(ctx context.Context) (string, error) { return d.ask(ctx, n) }, activity.Retry(patient))
		})
		e := w.start(flow)
		begin(t, e, flow, "run", 0)
		pass(time.Minute)
		isError(t, say(t, e, d.token(t, "run", 1), "yes"), nil)
		if got, err := finish[string](t, e, "run"); got != "yes" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// TestE29_NoTransactionOutside: what a body wants done in the transaction of its
// result is not forgotten silently if it has none.
func TestE29_NoTransactionOutside(t *testing.T) {
	needsHooks.inBothModes(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, _ int) (string, error) {
			err := activity.OnCommit(ctx, func(context.Context, any) error { return nil })
			return "", errors.Join(err, activity.ErrPending)
		}, activity.Retry(patient))
		flow := calls(work)
		e := w.start(flow, work)
		begin(t, e, flow, "run", 0)
		_, err := finish[string](t, e, "run")
		if err == nil || !retry.IsTerminal(err) || !strings.Contains(err.Error(), "do one or the other") {
			t.Errorf("got %v", err)
		}
	})
}

// TestE29_AGateIsHeldOutside: an attempt that goes on outside still is what the
// gate's limit counts, until it is over.
func TestE29_AGateIsHeldOutside(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		d := newDesk(patient)
		ask := activity.New("ask", d.ask, activity.Retry(patient), activity.Through(gate.New("the desk", 1)))
		flow := calls(ask)
		e := w.start(flow, ask)
		begin(t, e, flow, "first", 0)
		pass(time.Second)
		begin(t, e, flow, "second", 0)
		pass(time.Minute)
		if p := onlyCall(t, e, "first"); p.State != "external" {
			t.Errorf("the first call is %+v", p)
		}
		if p := onlyCall(t, e, "second"); p.State != "gated" {
			t.Errorf("the second call is %+v", p)
		}
		isError(t, say(t, e, d.token(t, "first", 1), "yes"), nil)
		pass(time.Second)
		if p := onlyCall(t, e, "second"); p.State != "external" {
			t.Errorf("the second call is %+v", p)
		}
		pass(61 * time.Minute) // it times out, and so do the next ones
		isError(t, say(t, e, d.token(t, "second", 2), "yes"), nil)
		if got, err := finish[string](t, e, "second"); got != "yes" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// TestE29_ManyOutsideHoldNothing: of runs whose attempts go on outside for long,
// the process has nothing but their due times.
func TestE29_ManyOutsideHoldNothing(t *testing.T) {
	needsNumbers.inBothModes(t, func(t *testing.T, w *world) {
		p := patient
		p.AttemptTimeout = 240 * time.Hour
		d := newDesk(p)
		e := w.start(d.flow, d.activity)
		const runs = 300
		for i := range runs {
			begin(t, e, d.flow, fmt.Sprint(i), i)
		}
		pass(time.Hour)
		if holds := engine.Holds(e); holds != "" {
			t.Errorf("the engine holds %s", holds)
		}
		for i := range runs {
			isError(t, say(t, e, d.token(t, fmt.Sprint(i), 1), "yes"), nil)
		}
		for i := range runs {
			if got, err := finish[string](t, e, fmt.Sprint(i)); got != "yes" || err != nil {
				t.Errorf("run %d: %q, %v", i, got, err)
			}
		}
	})
}

// TestE29_ItMovesWithItsPartition: nodes that give partitions away, lose them or
// leave do not wait for what goes on outside, and take nothing of it for lost.
func TestE29_ItMovesWithItsPartition(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		d := newDesk(patient)
		a := w.node("a", d.flow, d.activity)
		const runs = 20
		for i := range runs {
			begin(t, a, d.flow, fmt.Sprint(i), i)
		}
		pass(time.Second)
		b := w.node("b", d.flow, d.activity)
		pass(5 * time.Second)
		w.wantShares(b, "a:8 b:8")
		w.plans[a].Outage(true) // it loses the rest without a word
		pass(30 * time.Second)
		for i := range runs {
			isError(t, say(t, b, d.token(t, fmt.Sprint(i), 1), "yes"), nil)
		}
		for i := range runs {
			if got, err := finish[string](t, b, fmt.Sprint(i)); got != "yes" || err != nil {
				t.Errorf("run %d: %q, %v", i, got, err)
			}
			if got := outcomes(t, b, fmt.Sprint(i)); got != "1.1 completed succeeded" {
				t.Errorf("run %d has the attempts %s", i, got)
			}
		}
		w.plans[a].Outage(false)
	})
}

// TestE29_AResultOfAnotherTypeIsRefused: a process that has the activity refuses such a
// result, and the attempt stays as it is. A step is not taken for the activity of its name.
func TestE29_AResultOfAnotherTypeIsRefused(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		d := newDesk(patient)
		step := make(chan string, 1)
		steps := workflow.New("steps", func(wf *workflow.Context, _ int) (int, error) {
			return workflow.Do(wf, "ask", func(ctx context.Context) (int, error) {
				step <- activity.Token(ctx)
				return 0, activity.ErrPending
			}, activity.Retry(patient))
		})
		e := w.start(d.flow, d.activity, steps)
		begin(t, e, d.flow, "run", 0)
		begin(t, e, steps, "step", 0)
		settle()
		number, _ := history.Encode(17)
		err := e.CompleteAttempt(t.Context(), d.token(t, "run", 1), number)
		if wrong, ok := errors.AsType[*view.InputError](err); !ok || !strings.Contains(wrong.Error(), `does not fit string, the type that activity "ask" returns`) {
			t.Errorf("got %v", err)
		}
		settle()
		if p := onlyCall(t, e, "run"); p.State != "external" || p.Attempt != 1 || p.Failures != 0 {
			t.Errorf("the call is %+v", p)
		}
		isError(t, say(t, e, d.token(t, "run", 1), "yes"), nil)
		if got, err := finish[string](t, e, "run"); got != "yes" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		isError(t, e.CompleteAttempt(t.Context(), <-step, number), nil)
		if got, err := finish[int](t, e, "step"); got != 17 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
	})
}

// TestE29_AResultThatDoesNotFit: from a process without the activity, a result of the wrong
// type is a failure, and another attempt follows.
func TestE29_AResultThatDoesNotFit(t *testing.T) {
	inBothModesShared(t, 1, func(t *testing.T, w *world) {
		d := newDesk(patient)
		e := w.start(d.flow, d.activity)
		begin(t, e, d.flow, "run", 0)
		settle()
		number, _ := history.Encode(17)
		other := w.open(w.config())
		isError(t, other.CompleteAttempt(t.Context(), d.token(t, "run", 1), number), nil)
		settle()
		if p := onlyCall(t, e, "run"); p.State != "backoff" || !strings.HasPrefix(p.LastError, "the attempt was completed from outside, but the result does not fit") {
			t.Errorf("the call is %+v", p)
		}
		pass(time.Minute)
		isError(t, say(t, e, d.token(t, "run", 2), "yes"), nil)
		if got, err := finish[string](t, e, "run"); got != "yes" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// TestE29_WhatWasSaidBeforeACrashCounts: an attempt that was completed from outside
// while its body ran is not lost if the process dies before its run heard of it.
func TestE29_WhatWasSaidBeforeACrashCounts(t *testing.T) {
	inBothModesShared(t, 1, func(t *testing.T, w *world) {
		tokens := make(chan string, 10)
		work := activity.New("work", func(ctx context.Context, _ int) (string, error) {
			tokens <- activity.Token(ctx)
			return "", errors.Join(busy(ctx, time.Hour), activity.ErrPending)
		}, activity.Retry(patient))
		flow := calls(work)
		a := w.start(flow, work)
		for i := range 20 {
			begin(t, a, flow, fmt.Sprint(i), i)
		}
		settle()
		w.kill(a)
		client := w.open(w.config())
		for range 20 {
			isError(t, say(t, client, <-tokens, "yes"), nil)
		}
		b := w.start(flow, work)
		for i := range 20 {
			if got, err := finish[string](t, b, fmt.Sprint(i)); got != "yes" || err != nil {
				t.Errorf("run %d: %q, %v", i, got, err)
			}
			if got := outcomes(t, b, fmt.Sprint(i)); got != "1.1 completed succeeded" {
				t.Errorf("run %d has the attempts %s", i, got)
			}
		}
	})
}

// TestE29_ATokenIsGoodFromItsFirstMoment: a body in a queue may give it away before the run
// has heard that a worker claimed the attempt.
func TestE29_ATokenIsGoodFromItsFirstMoment(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var e *engine.Engine
		ends := map[int]func(token string) error{
			0: func(token string) error { return say(t, e, token, "done") },
			1: func(token string) error {
				return errors.Join(beatOutside(t, e, token, "half"), say(t, e, token, "done"))
			},
			2: func(token string) error {
				go func() {
					isError(t, beatOutside(t, e, token, "half"), nil)
					isError(t, say(t, e, token, "done"), nil)
				}()
				return nil
			},
			3: func(token string) error {
				time.AfterFunc(time.Millisecond, func() {
					isError(t, beatOutside(t, e, token, "half"), nil)
					isError(t, say(t, e, token, "done"), nil)
				})
				return nil
			},
		}
		ask := activity.New("ask", func(ctx context.Context, n int) (string, error) {
			return "", errors.Join(ends[n](activity.Token(ctx)), activity.ErrPending)
		}, activity.Queue("gpu"), activity.Retry(patient))
		flow := calls(ask)
		c := w.config(flow, ask)
		c.Queues = []servedQueue{{Name: "gpu", Limit: 2}}
		e = w.startWith(c)
		for n := range ends {
			begin(t, e, flow, fmt.Sprint(n), n)
			if got, err := finish[string](t, e, fmt.Sprint(n)); got != "done" || err != nil {
				t.Errorf("%d: %q, %v", n, got, err)
			}
		}
	})
}

// slowPosts is a database that is slow to take messages. If it is blind, it cannot be asked once
// after it has taken one.
type slowPosts struct {
	store.Opener
	each  time.Duration
	blind bool
}

func (s slowPosts) Open(ctx context.Context) (store.Store, error) {
	db, err := s.Opener.Open(ctx)
	return &slowPost{Store: db, slowPosts: s}, err
}

type slowPost struct {
	store.Store
	slowPosts
	fails atomic.Bool
}

func (s *slowPost) Post(ctx context.Context, m store.Message) error {
	time.Sleep(s.each)
	err := s.Store.Post(ctx, m)
	s.fails.Store(s.blind)
	return err
}

func (s *slowPost) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	if s.fails.Swap(false) {
		return nil, errRefused
	}
	return s.Store.Find(ctx, partition, workflowID, run)
}

// TestE29_WhoWaitsForTheDatabaseIsToldTheTruth: an answer that the database takes only after an
// outage, when its attempt is over and the next one runs, does not count, and its sender hears so.
func TestE29_WhoWaitsForTheDatabaseIsToldTheTruth(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		w.db = slowPosts{Opener: w.db, each: 15 * time.Minute}
		d := newDesk(retry.Policy{AttemptTimeout: 10 * time.Minute, MaxAttempts: 3, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter})
		e := w.start(d.flow, d.activity)
		begin(t, e, d.flow, "run", 0)
		pass(time.Minute)
		isError(t, say(t, e, d.token(t, "run", 1), "late"), request.ErrStaleToken)
		if got := outcomes(t, e, "run"); got != "1.1 timed-out backoff Timeout, 1.2 external" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestE29_WhatWasTakenStaysTaken: an answer that the database has taken is one, although nobody
// can ask it whether the attempt was over by then.
func TestE29_WhatWasTakenStaysTaken(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		w.db = slowPosts{Opener: w.db, each: time.Minute, blind: true}
		d := newDesk(patient)
		e := w.start(d.flow, d.activity)
		begin(t, e, d.flow, "run", 0)
		pass(time.Minute)
		isError(t, say(t, e, d.token(t, "run", 1), "done"), nil)
		if got, err := finish[string](t, e, "run"); got != "done" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}
