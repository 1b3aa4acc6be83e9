package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
)

// TestE21_E22_EveryEndingHasItsReason: each way in which a call can end leaves
// another reason in the ledger, and a retry summary that is complete.
func TestE21_E22_EveryEndingHasItsReason(t *testing.T) {
	boom := errors.New("boom")
	twice := retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(10 * time.Second), Jitter: retry.NoJitter}
	with := func(change func(*retry.Policy)) retry.Policy {
		p := twice
		change(&p)
		return p
	}
	// A body runs for a second and then fails; what it does at its nth attempt.
	fails := func(errs ...error) func(context.Context, int) error {
		return func(ctx context.Context, n int) error {
			if err := busy(ctx, time.Second); err != nil {
				return err
			}
			return errs[min(n, len(errs))-1]
		}
	}
	hangs := func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }
	kill := func(w *world, e *engine.Engine) bool { w.kill(e); return true }
	for _, test := range []struct {
		name      string
		policy    retry.Policy
		options   []activity.Option
		body      func(context.Context, int) error
		after     time.Duration // when something happens to the run, and what; true: the engine is gone
		happens   func(w *world, e *engine.Engine) bool
		terminate bool   // the run does not end by itself
		want      string // outcomes
		closed    string // why the call did, if no attempt says it
		summary   string
	}{
		{name: "success at the first try", policy: twice, body: fails(nil), want: "1.1 completed succeeded", summary: "none"},
		{name: "success later", policy: twice, body: fails(boom, nil), want: "1.1 failed backoff Error, 1.2 completed succeeded",
			summary: "2 attempts in 12000 ms, exhausted false, last boom, 1 errors"},
		{name: "immediate", policy: with(func(p *retry.Policy) { p.Backoff = retry.None }), body: fails(boom, nil),
			want: "1.1 failed immediate Error, 1.2 completed succeeded", summary: "2 attempts in 2000 ms, exhausted false, last boom, 1 errors"},
		{name: "server delay", policy: twice, body: fails(retry.After(boom, 3*time.Second), nil),
			want: "1.1 failed server_delay Error, 1.2 completed succeeded", summary: "2 attempts in 5000 ms, exhausted false, last boom, 1 errors"},
		{name: "exhausted", policy: twice, body: fails(boom), want: "1.1 failed backoff Error, 1.2 failed max_attempts Error",
			summary: "2 attempts in 12000 ms, exhausted true, last boom, 2 errors"},
		{name: "out of time", policy: with(func(p *retry.Policy) { p.Within = 5 * time.Second }), body: fails(boom), want: "1.1 failed within Error",
			summary: "1 attempts in 1000 ms, exhausted true, last boom, 1 errors"},
		{name: "timeout", policy: with(func(p *retry.Policy) { p.AttemptTimeout, p.OnTimeout = 4*time.Second, retry.StopOnTimeout }), body: hangs,
			want: "1.1 timed-out timeout Timeout", summary: "1 attempts in 4000 ms, exhausted false, last timeout: the attempt ran longer than 4s, 1 errors"},
		{name: "terminal", policy: twice, body: fails(boom, retry.Terminal(boom)), want: "1.1 failed backoff Error, 1.2 failed terminal Error",
			summary: "2 attempts in 12000 ms, exhausted false, last boom, 2 errors"},
		{name: "stop rule", policy: with(func(p *retry.Policy) { p.Rules = []retry.Rule{{Types: []string{"Error"}, Stop: true}} }), body: fails(boom),
			want: "1.1 failed stop_rule Error", summary: "1 attempts in 1000 ms, exhausted false, last boom, 1 errors"},
		{name: "on the deny list", policy: with(func(p *retry.Policy) { p.NonRetryable = []string{"Error"} }), body: fails(boom),
			want: "1.1 failed non_retryable Error", summary: "1 attempts in 1000 ms, exhausted false, last boom, 1 errors"},
		{name: "not on the allow list", policy: with(func(p *retry.Policy) { p.Retryable = []string{"Panic"} }), body: fails(boom),
			want: "1.1 failed not_retryable Error", summary: "1 attempts in 1000 ms, exhausted false, last boom, 1 errors"},
		{name: "canceled while it runs", policy: twice, body: func(ctx context.Context, n int) error {
			if n == 1 {
				return boom
			}
			return hangs(ctx, n)
		}, after: 15 * time.Second, happens: func(w *world, e *engine.Engine) bool {
			if err := e.Cancel(w.t.Context(), "run", "", request.By{Why: "enough"}); err != nil {
				w.t.Error(err)
			}
			return false
		}, want: "1.1 failed backoff Error, 1.2 canceled canceled Canceled", summary: "2 attempts in 15000 ms, exhausted false, last *, 1 errors"},
		{name: "crash", policy: twice, body: fails(nil), after: 500 * time.Millisecond, happens: kill,
			want: "1.1 lost worker_lost, 1.2 completed succeeded", summary: "2 attempts in 1500 ms, exhausted false, last , 0 errors"},
		{name: "shutdown", policy: twice, body: func(ctx context.Context, n int) error {
			if n == 1 {
				return hangs(ctx, n)
			}
			return nil
		}, after: time.Second, happens: func(w *world, e *engine.Engine) bool { stop(w.t, e); return true },
			want: "1.1 drained drained, 1.2 completed succeeded", summary: "2 attempts in * ms, exhausted false, last , 0 errors"},
		{name: "budget", policy: with(func(p *retry.Policy) { p.MaxAttempts = 5 }), options: []activity.Option{activity.Through(gate.New("thrifty", 5, gate.WithBudget(gate.Budget{Tokens: 1})))},
			body: fails(boom, boom, boom), want: "1.1 failed backoff Error, 1.2 failed budget Error", summary: "2 attempts in 12000 ms, exhausted true, last boom, 2 errors"},
		{name: "breaker", policy: twice, options: []activity.Option{activity.Through(gate.New("fuse", 5, gate.WithBreaker(gate.Breaker{Failures: 1, Cooldown: time.Hour})))},
			body: fails(boom), want: "1.1 failed backoff Error, 1.2 refused breaker Refused", closed: "breaker", summary: "1 attempts in 11000 ms, exhausted false, last boom, 1 errors"},
		{name: "quarantine", policy: with(func(p *retry.Policy) { p.CrashLimit = 1 }), body: fails(nil), after: 500 * time.Millisecond,
			happens: func(w *world, e *engine.Engine) bool { w.kill(e); return true }, terminate: true,
			want: "1.1 lost crash_limit", summary: "none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				options := append([]activity.Option{activity.Retry(test.policy)}, test.options...)
				work := activity.New("work", func(ctx context.Context, _ int) (int, error) {
					info, _ := activity.FromContext(ctx)
					return 1, test.body(ctx, info.Attempt)
				}, options...)
				once := calls(work)
				e := w.start(once, work)
				begin(t, e, once, "run", 0)
				if test.happens != nil {
					pass(test.after)
					if test.happens(w, e) {
						e = w.start(once, work)
					}
				}
				if test.terminate {
					pass(time.Minute)
					if err := e.Terminate(t.Context(), "run", "", request.By{Why: "it waits for a person"}); err != nil {
						t.Error(err)
					}
				}
				finish[int](t, e, "run")
				if got := outcomes(t, e, "run"); !like(got, test.want) {
					t.Errorf("the attempts are %s\nwant %s", got, test.want)
				}
				summary := "none"
				for _, ev := range eventsOf(t, e, "run") {
					if s := ev.Retry; s != nil && ev.Kind != history.AttemptStarted {
						if test.closed != "" && ev.Reason != test.closed {
							t.Errorf("the call was closed for the reason %q, want %q", ev.Reason, test.closed)
						}
						summary = fmt.Sprintf("%d attempts in %d ms, exhausted %t, last %s, %d errors", s.TotalAttempts, s.TotalDurationMS, s.Exhausted, s.LastError, s.ErrorsTotal)
					}
				}
				if !like(summary, test.summary) {
					t.Errorf("the summary is %s\nwant %s", summary, test.summary)
				}
			})
		})
	}
}

// like compares a text with one in which a star stands for anything.
func like(text, pattern string) bool {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return text == pattern
	}
	return strings.HasPrefix(text, before) && strings.HasSuffix(text[min(len(before), len(text)):], after)
}
