package retry_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/retry"
)

// TestR1_EachFaultIsNamed checks the field, and that the message has the value
// and what is allowed.
func TestR1_EachFaultIsNamed(t *testing.T) {
	rule := func(r retry.Rule) retry.Policy { return retry.Policy{Rules: []retry.Rule{r}} }
	for _, c := range []struct {
		policy retry.Policy
		want   []string // "field|value"
	}{
		{retry.Policy{MaxAttempts: -1}, []string{"MaxAttempts|-1"}},
		{retry.Policy{MaxAttempts: retry.Unlimited}, []string{"MaxAttempts|Unlimited without Within"}},
		{retry.Policy{Backoff: retry.Exponential(time.Second, 0.5, 0)}, []string{"Backoff.Coefficient|0.5"}},
		{retry.Policy{Backoff: retry.Exponential(time.Second, -2, 0)}, []string{"Backoff.Coefficient|-2"}},
		{retry.Policy{Backoff: retry.Exponential(time.Second, math.NaN(), 0)}, []string{"Backoff.Coefficient|NaN"}},
		{retry.Policy{Backoff: retry.Exponential(time.Second, math.Inf(1), 0)}, []string{"Backoff.Coefficient|+Inf"}},
		{retry.Policy{Backoff: retry.Exponential(-1, 2, time.Second)}, []string{"Backoff.Initial|-1ns"}},
		{retry.Policy{Backoff: retry.Exponential(2*time.Second, 2, time.Second)}, []string{"Backoff.Max|1s"}},
		{retry.Policy{Backoff: retry.Linear(2*time.Second, -1)}, []string{"Backoff.Max|-1ns"}},
		{retry.Policy{Backoff: retry.Backoff{Initial: time.Second}}, []string{"Backoff.Kind|not set"}},
		{retry.Policy{Backoff: retry.Backoff{Kind: 9}}, []string{"Backoff.Kind|unknown(9)"}},
		{retry.Policy{Backoff: retry.Backoff{Kind: retry.None.Kind, Initial: 1}}, []string{"Backoff.Initial|1ns"}},
		{retry.Policy{Backoff: retry.Backoff{Kind: retry.Fixed(0).Kind, Coefficient: 2, Max: 1}}, []string{"Backoff.Coefficient|2", "Backoff.Max|1ns"}},
		{retry.Policy{Backoff: retry.Backoff{Kind: retry.Linear(0, 0).Kind, Coefficient: 2}}, []string{"Backoff.Coefficient|2"}},
		{retry.Policy{Jitter: retry.Proportional(1.1)}, []string{"Jitter.Proportion|1.1"}},
		{retry.Policy{Jitter: retry.Proportional(-0.1)}, []string{"Jitter.Proportion|-0.1"}},
		{retry.Policy{Jitter: retry.Proportional(math.NaN())}, []string{"Jitter.Proportion|NaN"}},
		{retry.Policy{Jitter: retry.Jitter{Proportion: 0.5}}, []string{"Jitter.Kind|not set"}},
		{retry.Policy{Jitter: retry.Jitter{Kind: retry.FullJitter.Kind, Proportion: 0.5}}, []string{"Jitter.Proportion|0.5"}},
		{retry.Policy{Jitter: retry.Jitter{Kind: 77}}, []string{"Jitter.Kind|unknown(77)"}},
		{retry.Policy{Backoff: retry.Fixed(1), Jitter: retry.Decorrelated}, []string{"Jitter.Kind|decorrelated with a backoff that is fixed"}},
		{retry.Policy{AttemptTimeout: -1}, []string{"AttemptTimeout|-1ns"}},
		{retry.Policy{HeartbeatTimeout: -time.Second}, []string{"HeartbeatTimeout|-1s"}},
		{retry.Policy{QueueTimeout: -time.Minute}, []string{"QueueTimeout|-1m"}},
		{retry.Policy{Within: -time.Hour}, []string{"Within|-1h"}},
		{retry.Policy{OnTimeout: 2}, []string{"OnTimeout|unknown(2)"}},
		{retry.Policy{Retryable: []string{""}}, []string{`Retryable[0]|""`}},
		{retry.Policy{Retryable: []string{"A", "Canceled"}}, []string{"Retryable[1]|Canceled"}},
		{retry.Policy{OnTimeout: retry.StopOnTimeout, Retryable: []string{"Timeout"}}, []string{"Retryable[0]|Timeout"}},
		{retry.Policy{NonRetryable: []string{"two words", "ok"}}, []string{`NonRetryable[0]|"two words"`}},
		{retry.Policy{NonRetryable: []string{"\xff"}}, []string{`NonRetryable[0]|"\xff"`}},
		{retry.Policy{OnExhausted: 5}, []string{"OnExhausted|unknown(5)"}},
		{retry.Policy{MaxServerDelay: -1}, []string{"MaxServerDelay|-1ns"}},
		{retry.Policy{CrashLimit: -3}, []string{"CrashLimit|-3"}},
		{rule(retry.Rule{Stop: true}), []string{"Rules[0].Types|empty"}},
		{rule(retry.Rule{Types: []string{"A"}}), []string{"Rules[0]|without a setting"}},
		{rule(retry.Rule{Types: []string{"A"}, Stop: true, MaxAttempts: 2}), []string{"Rules[0].Stop|true with other settings"}},
		{rule(retry.Rule{Types: []string{"Canceled"}, MaxAttempts: 2}), []string{"Rules[0].Types[0]|Canceled"}},
		{rule(retry.Rule{Types: []string{"A"}, MaxAttempts: -2}), []string{"Rules[0].MaxAttempts|-2"}},
		{rule(retry.Rule{Types: []string{"A"}, MaxAttempts: retry.Unlimited}), []string{"Rules[0].MaxAttempts|Unlimited without Within"}},
		{rule(retry.Rule{Types: []string{"A"}, Backoff: retry.Linear(2, 1)}), []string{"Rules[0].Backoff.Max|1ns"}},
		{rule(retry.Rule{Types: []string{"A"}, MaxAttempts: -2, Backoff: retry.Linear(2, 1)}), []string{"Rules[0].MaxAttempts|-2", "Rules[0].Backoff.Max|1ns"}},
		{rule(retry.Rule{Types: []string{"A"}, Jitter: retry.Proportional(3)}), []string{"Rules[0].Jitter.Proportion|3"}},
		{retry.Policy{Jitter: retry.Decorrelated, Rules: []retry.Rule{{Types: []string{"A"}, Backoff: retry.Fixed(1)}}},
			[]string{"Rules[0].Jitter.Kind|decorrelated with a backoff that is fixed"}},
	} {
		err := c.policy.Validate()
		invalid, ok := errors.AsType[*retry.PolicyError](err)
		if !ok {
			t.Errorf("%+v: got %v, want a *PolicyError", c.policy, err)
			continue
		}
		var got []string
		for _, f := range invalid.Faults {
			got = append(got, f.Field+"|"+f.Value)
			if f.Allowed == "" || !strings.Contains(err.Error(), f.String()) {
				t.Errorf("the message %q lacks %q", err, f)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v:\ngot  %q\nwant %q", c.policy, got, c.want)
		}
	}
}

func TestR1_AllFaultsAtOnce(t *testing.T) {
	p := retry.Policy{
		MaxAttempts: -1, Backoff: retry.Exponential(-1, math.NaN(), -1), Jitter: retry.Proportional(2),
		AttemptTimeout: -1, HeartbeatTimeout: -1, QueueTimeout: -1, Within: -1, OnTimeout: 9,
		Retryable: []string{""}, NonRetryable: []string{""}, Rules: []retry.Rule{{}, {Types: []string{""}, Stop: true}},
		OnExhausted: 9, MaxServerDelay: -1, CrashLimit: -1,
	}
	invalid, ok := errors.AsType[*retry.PolicyError](p.Validate())
	if !ok || len(invalid.Faults) != 18 {
		t.Fatalf("got %d faults: %v", len(invalid.Faults), invalid)
	}
	if text := invalid.Error(); !strings.HasPrefix(text, "invalid retry policy: MaxAttempts is -1; allowed is 0 (the default, 5), 1 to 2147483646, or Unlimited. ") {
		t.Errorf("the message is %q", text)
	}
}

func TestR1_ValidPolicies(t *testing.T) {
	for _, p := range []retry.Policy{
		{}, {MaxAttempts: retry.Unlimited, Within: retry.Forever}, {MaxAttempts: retry.Unlimited, Within: time.Hour},
		{Backoff: retry.None}, {Backoff: retry.Fixed(0)}, {Backoff: retry.Exponential(time.Second, 1, time.Second)},
		{Jitter: retry.Proportional(0)}, {Jitter: retry.Proportional(1)}, {Jitter: retry.Decorrelated},
		{NonRetryable: []string{"Canceled", "net.OpError", "ファイル"}},
		{OnTimeout: retry.StopOnTimeout, Rules: []retry.Rule{{Types: []string{"Timeout"}, MaxAttempts: 3}}},
	} {
		if err := p.Validate(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestR1_UnknownTypesAreOnlyAWarning(t *testing.T) {
	p := retry.Policy{
		Retryable:    []string{"Timeout", "NotRegistered", "EOF"},
		NonRetryable: []string{"Panic", "net.OpError"},
		Rules:        []retry.Rule{{Types: []string{"Error", "Nowhere"}, Stop: true}},
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	got := p.Warnings()
	for i, want := range []string{`Retryable[1] is "NotRegistered"`, `NonRetryable[1] is "net.OpError"`, `Rules[0].Types[1] is "Nowhere"`} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Fatalf("got %q", got)
		}
	}
	if len(got) != 3 {
		t.Errorf("got %q", got)
	}
}

// anyPolicy draws valid policies.
func anyPolicy() *rapid.Generator[retry.Policy] {
	types := rapid.SliceOfN(rapid.SampledFrom([]string{"A", "B", "Error", "Timeout", "EOF"}), 1, 3)
	return rapid.Custom(func(t *rapid.T) retry.Policy {
		maybe := func(name string) bool { return rapid.Bool().Draw(t, name) }
		p := retry.Policy{
			MaxAttempts:      rapid.SampledFrom([]int{0, 1, 2, 7, retry.Unlimited - 1, retry.Unlimited}).Draw(t, "attempts"),
			Backoff:          anyBackoff().Draw(t, "backoff"),
			Jitter:           anyJitter().Draw(t, "jitter"),
			AttemptTimeout:   anyDuration().Draw(t, "attempt timeout"),
			HeartbeatTimeout: anyDuration().Draw(t, "heartbeat timeout"),
			QueueTimeout:     anyDuration().Draw(t, "queue timeout"),
			Within:           anyDuration().Filter(func(d time.Duration) bool { return d > 0 }).Draw(t, "within"),
			OnTimeout:        retry.OnTimeout(rapid.IntRange(0, 1).Draw(t, "on timeout")),
			OnExhausted:      retry.OnExhausted(rapid.IntRange(0, 1).Draw(t, "on exhausted")),
			MaxServerDelay:   anyDuration().Draw(t, "server delay"),
			CrashLimit:       rapid.IntRange(0, 9).Draw(t, "crash limit"),
		}
		if maybe("non-retryable") {
			p.NonRetryable = types.Draw(t, "non-retryable types")
		}
		if maybe("retryable") {
			p.Retryable = types.Draw(t, "retryable types")
		}
		for maybe("rule") {
			r := retry.Rule{Types: types.Draw(t, "rule types"), Stop: maybe("stop")}
			if !r.Stop {
				r.MaxAttempts = rapid.SampledFrom([]int{1, 3, 9, retry.Unlimited}).Draw(t, "rule attempts")
				r.Backoff = anyBackoff().Draw(t, "rule backoff")
				r.Jitter = anyJitter().Draw(t, "rule jitter")
			}
			p.Rules = append(p.Rules, r)
		}
		return p
	}).Filter(func(p retry.Policy) bool { return p.Validate() == nil })
}

// TestR1_DefaultsWrittenOutAreValidAndMeanTheSame is about WithDefaults.
func TestR1_DefaultsWrittenOutAreValidAndMeanTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPolicy().Draw(t, "policy")
		full := p.WithDefaults()
		if err := full.Validate(); err != nil {
			t.Fatalf("%+v: %v", full, err)
		}
		s, f, now, u := anyState(t), anyFailure(t), time.Unix(1000, 0), anyDraw().Draw(t, "u")
		if a, b := retry.Decide(&p, s, f, now, u), retry.Decide(&full, s, f, now, u); a != b {
			t.Fatalf("got %+v and %+v", a, b)
		}
	})
}
