package retry_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/retry"
)

// anyState draws states.
func anyState(t *rapid.T) retry.State {
	return retry.State{
		Attempt:    anyAttempt().Draw(t, "attempt"),
		First:      time.Unix(rapid.Int64Range(0, 1000).Draw(t, "first"), 0),
		Previous:   anyDuration().Draw(t, "previous"),
		Canceled:   rapid.IntRange(0, 9).Draw(t, "canceled") == 0,
		OverBudget: rapid.IntRange(0, 1).Draw(t, "budget") == 1,
	}
}

// anyFailure draws failures.
func anyFailure(t *rapid.T) retry.Failure {
	rarely := func(name string) bool { return rapid.IntRange(0, 9).Draw(t, name) == 0 }
	f := retry.Failure{
		Types:    rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"A", "B", "C", "Error"}), 1, 3, rapid.ID).Draw(t, "types"),
		Canceled: rarely("failure canceled"),
		Terminal: rarely("terminal"),
	}
	if rarely("timeout") {
		f.Timeout = retry.TimeoutAttempt
		f.Types = append([]string{"Timeout"}, f.Types...)
	}
	if rarely("asked") {
		f.Asked, f.After = true, anyDuration().Draw(t, "after")
	}
	return f
}

// TestR15_DecideIsPure: equal arguments, equal results, untouched arguments.
func TestR15_DecideIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s, f := anyPolicy().Draw(t, "policy"), anyState(t), anyFailure(t)
		now, u := time.Unix(2000, 0), anyDraw().Draw(t, "u")
		before := mustMarshal(t, p)
		a := retry.Decide(&p, s, f, now, u)
		b := retry.Decide(&p, s, f, now, u)
		if a != b || before != mustMarshal(t, p) {
			t.Fatalf("got %+v and %+v", a, b)
		}
		checkDecision(t, &p, s, f, now, a)
	})
}

func mustMarshal(t *rapid.T, p retry.Policy) string {
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// checkDecision checks what must hold for every decision on a valid policy.
func checkDecision(t interface{ Fatalf(string, ...any) }, p *retry.Policy, s retry.State, f retry.Failure, now time.Time, d retry.Decision) {
	switch {
	case d.Retry:
		if d.Pause {
			t.Fatalf("a retry and a pause: %+v", d)
		}
		if !d.Reason.Retries() {
			t.Fatalf("a retry with the reason %s", d.Reason)
		}
		if d.Delay < 0 || d.At.Before(now) || (d.At.Year() < 2261 && !d.At.Equal(now.Add(d.Delay))) {
			t.Fatalf("a retry at %s after %s: now is %s", d.At, d.Delay, now)
		}
		if s.Canceled || f.Canceled || f.Terminal || s.Attempt >= d.Max || s.Attempt >= p.AttemptLimit() || s.OverBudget {
			t.Fatalf("a retry that must not be: %+v", d)
		}
		if p.Within != 0 && p.Within != retry.Forever && d.At.After(s.First.Add(p.Within)) {
			t.Fatalf("a retry at %s, after the end of Within", d.At)
		}
		if d.At.UnixNano() < now.UnixNano() {
			t.Fatalf("the due time %s does not fit an int64 of nanoseconds", d.At)
		}
	case d.Pause:
		if p.OnExhausted != retry.Pause || !d.Reason.Exhausts() {
			t.Fatalf("a pause with the reason %s", d.Reason)
		}
	default:
		if d.Reason.Retries() || d.Reason == "" || (p.OnExhausted == retry.Pause && d.Reason.Exhausts()) {
			t.Fatalf("a stop with the reason %s", d.Reason)
		}
	}
	if !d.Retry && (d.Delay != 0 || !d.At.IsZero()) {
		t.Fatalf("a stop with a delay: %+v", d)
	}
	if d.Rule < -1 || d.Rule >= len(p.Rules) {
		t.Fatalf("the rule %d", d.Rule)
	}
}

func TestR15_DecideAllocatesNothing(t *testing.T) {
	p := retry.Policy{
		Within: time.Hour, NonRetryable: []string{"X"}, Retryable: []string{"B"},
		Rules: []retry.Rule{{Types: []string{"A"}, MaxAttempts: 9, Backoff: retry.Exponential(time.Second, 1.7, time.Hour), Jitter: retry.Decorrelated}},
	}
	now := time.Unix(1000, 0)
	s, f := retry.State{Attempt: 5, First: now}, retry.Failure{Types: []string{"C", "A"}}
	var d retry.Decision
	if n := testing.AllocsPerRun(100, func() { d = retry.Decide(&p, s, f, now, 0.5) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if !d.Retry {
		t.Errorf("got %+v", d)
	}
}

// TestR8_WithinAtItsEnd: exactly at the end is allowed, a nanosecond later is
// not, wherever the delay comes from.
func TestR8_WithinAtItsEnd(t *testing.T) {
	first := time.Unix(1000, 0)
	for elapsed := range time.Duration(20) {
		for asked := range time.Duration(20) {
			p := retry.Policy{Within: 20}
			f := retry.Failure{Types: []string{"Error"}, Asked: true, After: asked}
			d := retry.Decide(&p, retry.State{Attempt: 1, First: first}, f, first.Add(elapsed), 0)
			if want := elapsed+asked <= 20; d.Retry != want {
				t.Fatalf("elapsed %d, asked %d: %+v", elapsed, asked, d)
			}
		}
	}
}

func TestR8_WithinWithoutAFirstCountsFromNow(t *testing.T) {
	p := retry.Policy{Within: time.Minute, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}
	if d := retry.Decide(&p, retry.State{Attempt: 1}, retry.Failure{}, time.Now(), 0); !d.Retry {
		t.Errorf("got %+v", d)
	}
}

// TestR4_DueTimesFitAnInt64 is about delays of centuries.
func TestR4_DueTimesFitAnInt64(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := retry.Policy{Backoff: retry.Fixed(retry.Forever), Jitter: retry.NoJitter}
	d := retry.Decide(&p, retry.State{Attempt: 1}, retry.Failure{}, now, 0)
	if d.Delay != retry.Forever || d.At.Year() != 2261 || d.At.UnixNano() <= now.UnixNano() {
		t.Errorf("got %+v", d)
	}
}

// TestR10_MostAttemptsDecide compares with a search over all rules.
func TestR10_MostAttemptsDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"A", "B", "C"}), 1, 2)
		p := retry.Policy{MaxAttempts: rapid.IntRange(0, 6).Draw(t, "base")}
		for range rapid.IntRange(0, 5).Draw(t, "rules") {
			p.Rules = append(p.Rules, retry.Rule{
				Types: names.Draw(t, "types"), Stop: rapid.IntRange(0, 5).Draw(t, "stop") == 0,
				MaxAttempts: rapid.IntRange(0, 6).Draw(t, "attempts"),
			})
		}
		f := retry.Failure{Types: names.Draw(t, "failure")}
		attempt := rapid.IntRange(1, 7).Draw(t, "attempt")
		d := retry.Decide(&p, retry.State{Attempt: attempt}, f, time.Unix(0, 0), 0.5)

		base := p.MaxAttempts
		if base == 0 {
			base = 5
		}
		rule, most, stopped := -1, base, false
		for i, r := range p.Rules {
			if !intersect(r.Types, f.Types) || stopped {
				continue
			}
			n := r.MaxAttempts
			if n == 0 {
				n = base
			}
			if r.Stop {
				rule, stopped = i, true
			} else if rule < 0 || n > most {
				rule, most = i, n
			}
		}
		if d.Rule != rule || d.Retry != (!stopped && attempt < most) {
			t.Fatalf("%+v: got %+v, want rule %d, %d attempts, stop %v", p.Rules, d, rule, most, stopped)
		}
	})
}

func intersect(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}

// FuzzDecide feeds everything, valid or not: Decide has an answer for it.
func FuzzDecide(f *testing.F) {
	f.Add(5, uint8(4), int64(1e9), 2.0, int64(60e9), uint8(2), 0.1, int64(0), uint8(0), 3, int64(0), int64(0), uint8(0), 0.5)
	f.Add(-1, uint8(9), int64(-1), math.NaN(), int64(-5), uint8(9), math.Inf(1), int64(-1), uint8(9), math.MinInt, int64(math.MinInt64), int64(math.MaxInt64), uint8(255), math.NaN())
	f.Add(math.MaxInt32, uint8(4), int64(1), math.Nextafter(1, 2), int64(math.MaxInt64), uint8(5), 0.0, int64(math.MaxInt64), uint8(0), math.MaxInt32-1, int64(math.MaxInt64), int64(1), uint8(4), 1.0)
	f.Fuzz(func(t *testing.T, attempts int, kind uint8, initial int64, coefficient float64, limit int64,
		jitter uint8, proportion float64, within int64, modes uint8, attempt int, previous, asked int64, flags uint8, u float64) {
		p := retry.Policy{
			MaxAttempts: attempts, Within: time.Duration(within), MaxServerDelay: time.Duration(limit),
			Backoff:   retry.Backoff{Kind: retry.BackoffKind(kind), Initial: time.Duration(initial), Coefficient: coefficient, Max: time.Duration(limit)},
			Jitter:    retry.Jitter{Kind: retry.JitterKind(jitter), Proportion: proportion},
			OnTimeout: retry.OnTimeout(modes & 1), OnExhausted: retry.OnExhausted(modes >> 1 & 1),
		}
		now := time.Unix(1000, 0)
		s := retry.State{Attempt: attempt, First: now, Previous: time.Duration(previous), Canceled: flags&1 != 0, OverBudget: flags>>1&1 == 1}
		failure := retry.Failure{Types: []string{"Error"}, Terminal: flags&4 != 0, Asked: flags&8 != 0, After: time.Duration(asked)}
		d := retry.Decide(&p, s, failure, now, u)
		checkDecision(t, &p, s, failure, now, d)
		if d.Retry && d.Reason != retry.ReasonServerDelay && p.Validate() == nil && d.Delay > maxOf(p.Backoff) {
			t.Fatalf("the delay %d is above the maximum of %+v", d.Delay, p.Backoff)
		}
	})
}
