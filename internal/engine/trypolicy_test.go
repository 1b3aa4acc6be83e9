package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// trialOf is what a policy would have made of the calls of an activity.
func trialOf(t *testing.T, e *engine.Engine, p retry.Policy, activity string) *view.PolicyTrial {
	t.Helper()
	out, err := e.TryPolicy(t.Context(), p, view.TrialFilter{Activity: activity})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type outerError struct{ error }

func (e *outerError) ErrorType() string { return "Outer" }

func (e *outerError) Unwrap() error { return e.error }

// TestF24_OnEveryStore: real engines work under policies with jitter, rules for wrapped
// errors, server delays, timeouts, and an end; one is killed and one is stopped meanwhile.
// Each policy gives back what is on record, and what is on record is what happened.
func TestF24_OnEveryStore(t *testing.T) {
	needsQueries.inVirtualTime(t, func(t *testing.T, w *world) {
		body := func(ctx context.Context, n int) (int, error) { // fails n times, in several ways
			info, _ := activity.FromContext(ctx)
			if err := busy(ctx, time.Duration(n)*100*time.Millisecond); err != nil {
				return 0, err
			}
			switch err := (&declinedError{Code: info.Attempt}); {
			case info.Attempt > n:
				return n, nil
			case n == 7 && info.Attempt == 3:
				return 0, retry.Terminal(err)
			case info.Attempt%3 == 1:
				return 0, &outerError{err} // the rule of mail is for what it wraps
			case info.Attempt%3 == 2:
				return 0, retry.After(errors.New("busy"), 5*time.Second)
			default:
				<-ctx.Done() // until it times out
				return 0, ctx.Err()
			}
		}
		policies := map[string]retry.Policy{
			"pay":  {MaxAttempts: 4, Backoff: retry.Exponential(time.Second, 2, time.Minute), AttemptTimeout: 3 * time.Second},
			"ship": {MaxAttempts: 9, Backoff: retry.Exponential(time.Second, 2, time.Minute), Jitter: retry.Decorrelated, Within: 30 * time.Second, AttemptTimeout: 2 * time.Second},
			"mail": {MaxAttempts: 9, Jitter: retry.FullJitter, AttemptTimeout: time.Second, Rules: []retry.Rule{{Types: []string{retry.TypeName(&declinedError{})}, MaxAttempts: 2}}},
		}
		var definitions []any
		var flows []workflow.Workflow[int, int]
		for _, name := range []string{"pay", "ship", "mail"} {
			a := activity.New(name, body, activity.Retry(policies[name]))
			f := calls(a)
			definitions, flows = append(definitions, a, f), append(flows, f)
		}
		e := w.start(definitions...)
		started := 0
		for i := range 10 {
			for _, f := range flows {
				begin(t, e, f, fmt.Sprint(f.Name(), i), i)
				started++
			}
		}
		pass(3 * time.Second)
		w.kill(e)
		e = w.start(definitions...)
		pass(4 * time.Second)
		stop(t, e)
		w.start(definitions...)
		pass(10 * time.Second)

		client := w.open(w.config())
		for _, moment := range []string{"while some are open", "at the end"} {
			calls, lost, asked := 0, 0, 0
			for name, p := range policies {
				out := trialOf(t, client, p, name)
				if out.Trial != out.Recorded || out.Worst.Succeeded != out.Recorded.Succeeded || out.Best.Attempts != out.Recorded.Attempts {
					t.Errorf("%s, %s: on record is %+v,\nand %s gives %+v between %+v and %+v", moment, name, out.Recorded, out.Policy, out.Trial, out.Worst, out.Best)
				}
				for _, c := range out.Classes {
					if c.Recorded != c.Trial || c.Assumed > 0 || c.RecordedAttempts != c.TrialAttempts {
						t.Errorf("%s, %s: %+v", moment, name, c)
					}
				}
				found, _, err := client.FindAttempts(t.Context(), view.AttemptFilter{Activity: name})
				if err != nil || len(found) != out.Recorded.Attempts || out.Read != len(found) || out.LeftOut != 0 {
					t.Errorf("%s, %s: %d attempts are on record, %+v counts, %v", moment, name, len(found), out, err)
				}
				for _, a := range found {
					if a.Outcome == view.OutcomeLost || a.Outcome == view.OutcomeDrained {
						lost++
					}
					if a.Reason == string(retry.ReasonServerDelay) {
						asked++
					}
				}
				calls += out.Calls + int(out.FirstTry)
			}
			if lost == 0 || asked == 0 {
				t.Errorf("%s: %d attempts were lost, %d asked for a delay: this shows little", moment, lost, asked)
			}
			if moment == "at the end" && calls != started {
				t.Errorf("%d of %d calls were looked at", calls, started)
			}
			pass(10 * time.Minute)
		}
		if all := trialOf(t, client, retry.Never, ""); all.Trial.Succeeded != 0 || all.Trial.Failed == 0 {
			// What was lost is not charged, and may succeed after that.
			for _, c := range all.Classes {
				if c.Trial == view.EndedSucceeded && c.Example.TrialAttempts < 2 {
					t.Errorf("without retries %+v", c)
				}
			}
		}
	})
}

// TestF24_PeopleActOnRecord: a call that was paused and retried by a person, and policies
// that pause and that fail where the one in force did not.
func TestF24_PeopleActOnRecord(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		p := retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Second), OnExhausted: retry.Pause}
		flaky := activity.New("flaky", func(ctx context.Context, n int) (int, error) {
			if info, _ := activity.FromContext(ctx); info.Attempt <= n {
				return 0, &declinedError{}
			}
			return n, nil
		}, activity.Retry(p))
		flow := calls(flaky)
		e := w.start(flow, flaky)
		begin(t, e, flow, "resumed", 2)
		begin(t, e, flow, "waiting", 5)
		begin(t, e, flow, "alone", 1)
		pass(time.Minute)
		control(t, e, "resumed", core.Control{Operation: core.RetryNow})
		pass(time.Minute)
		out := trialOf(t, e, p, "flaky")
		want := view.TrialNumbers{Succeeded: 2, Paused: 1, Attempts: 3 + 2 + 2, P50: out.Recorded.P50, P99: out.Recorded.P99}
		if out.Recorded != want || out.Trial != want {
			t.Errorf("on record is %+v, the trial gives %+v", out.Recorded, out.Trial)
		}
		p.OnExhausted = retry.Fail
		if out := trialOf(t, e, p, "flaky"); out.Trial.Succeeded != 1 || out.Trial.Failed != 2 || out.Trial.Unknown != 0 {
			t.Errorf("without a pause the trial gives %+v", out.Trial)
		}
	})
}

// TestF25_WhatIsLeftOutIsSaid: calls that began before the span, and those outside of it.
func TestF25_WhatIsLeftOutIsSaid(t *testing.T) {
	needsQueries.inBothModesShared(t, 4, func(t *testing.T, w *world) {
		p := retry.Policy{MaxAttempts: 5, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}
		flaky := activity.New("flaky", func(ctx context.Context, n int) (int, error) {
			if info, _ := activity.FromContext(ctx); info.Attempt <= n {
				return 0, &declinedError{}
			}
			return n, nil
		}, activity.Retry(p))
		flow := calls(flaky)
		e := w.start(flow, flaky)
		begin(t, e, flow, "early", 3)
		pass(90 * time.Second)
		since := time.Now()
		begin(t, e, flow, "amid", 3)
		begin(t, e, flow, "at once", 0)
		pass(90 * time.Second)
		until := time.Now()
		begin(t, e, flow, "late", 3)
		pass(time.Hour)
		of := func(f view.TrialFilter) *view.PolicyTrial {
			out, err := e.TryPolicy(t.Context(), p, f)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		if out := of(view.TrialFilter{}); out.Calls != 3 || out.LeftOut != 0 || out.FirstTry != 1 || out.Read != 12 {
			t.Errorf("of all: %+v", out)
		}
		if out := of(view.TrialFilter{Since: since}); out.Calls != 2 || out.LeftOut != 1 || out.Trial.Attempts != 8 {
			t.Errorf("since: %+v", out)
		}
		if out := of(view.TrialFilter{Since: since, Until: until}); out.Calls != 1 || out.LeftOut != 1 || out.Trial.Succeeded != 1 {
			t.Errorf("in the span: %+v", out)
		}
		if out := of(view.TrialFilter{Activity: "other"}); out.Calls != 0 || out.FirstTry != 0 || out.From != nil || len(out.Assumptions) != 0 {
			t.Errorf("of another activity: %+v", out)
		}
		if _, err := e.TryPolicy(t.Context(), retry.Policy{MaxAttempts: -1}, view.TrialFilter{}); err == nil {
			t.Error("a policy that cannot be used was tried")
		}
		if _, err := e.TryPolicy(t.Context(), p, view.TrialFilter{Since: until, Until: since}); err == nil {
			t.Error("an empty span was accepted")
		}
	})
}
