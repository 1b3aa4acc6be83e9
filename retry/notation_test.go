package retry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/notation"
	"github.com/perdure/perdure/retry"
)

const (
	second = time.Second
	minute = time.Minute
)

// once is what a text means that retries nothing.
func once(p retry.Policy) retry.Policy {
	p.MaxAttempts, p.Backoff, p.OnTimeout = 1, retry.None, retry.StopOnTimeout
	return p
}

// exponential is a backoff as the text has it.
func exponential(d time.Duration) retry.Backoff { return retry.Exponential(d, 2, 0) }

// mustParse reads a policy and checks that printing it is stable.
func mustParse(t testing.TB, text string) retry.Policy {
	t.Helper()
	p, err := retry.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	mustBeStable(t, p)
	return p
}

// mustBeStable checks that a policy that was parsed is printed and read as
// itself, and that valid text is a valid policy.
func mustBeStable(t testing.TB, p retry.Policy) {
	t.Helper()
	printed := p.String()
	back, err := retry.Parse(printed)
	if err != nil {
		t.Fatalf("%s, which was printed, is refused: %v", printed, err)
	}
	if !reflect.DeepEqual(p, back) || back.String() != printed {
		t.Fatalf("%s is read as %s", printed, back)
	}
	if err := p.Validate(); err != nil {
		t.Fatalf("%s: %v", printed, err)
	}
}

// TestR20_TheFiveLines are those that the notation began with.
func TestR20_TheFiveLines(t *testing.T) {
	rule := func(types []string, attempts int, d time.Duration) retry.Rule {
		return retry.Rule{Types: types, MaxAttempts: attempts, Backoff: exponential(d)}
	}
	for text, want := range map[string]retry.Policy{
		"[retry: 3, backoff: 60]": {MaxAttempts: 4, Backoff: exponential(minute), OnTimeout: retry.StopOnTimeout},
		"[NetworkError -> retry: 5, backoff: 2m]": once(retry.Policy{Rules: []retry.Rule{
			rule([]string{"NetworkError"}, 6, 2*minute)}}),
		"[(ValueError, KeyError) -> retry: 3, backoff: 30s]": once(retry.Policy{Rules: []retry.Rule{
			rule([]string{"ValueError", "KeyError"}, 4, 30*second)}}),
		"[ValueError, KeyError -> retry: 3, backoff: 30s]": once(retry.Policy{Rules: []retry.Rule{
			rule([]string{"ValueError", "KeyError"}, 4, 30*second)}}),
		"[RateLimitError -> retry: 10, backoff: 1m] [NetworkError -> retry: 3, backoff: 30s]": once(retry.Policy{Rules: []retry.Rule{
			rule([]string{"RateLimitError"}, 11, minute), rule([]string{"NetworkError"}, 4, 30*second)}}),
		"[retry: 3, backoff: 60] [timeout: 2m]": {MaxAttempts: 4, Backoff: exponential(minute), AttemptTimeout: 2 * minute,
			OnTimeout: retry.StopOnTimeout},
	} {
		if got := mustParse(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %#v\nwant %#v", text, got, want)
		}
	}
}

// TestR20_RetriesAreOneLessThanAttempts over the whole range.
func TestR20_RetriesAreOneLessThanAttempts(t *testing.T) {
	for text, want := range map[string]int{
		"[retry: 0]": 1, "[retry: 1]": 2, "[retry: 007]": 8, "[retry: 2147483645]": retry.Unlimited - 1,
		"[retry: unlimited, within: forever]": retry.Unlimited,
	} {
		if got := mustParse(t, text).MaxAttempts; got != want {
			t.Errorf("%s gives %d attempts, want %d", text, got, want)
		}
	}
}

func TestR20_DurationsAreExact(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"60": minute, "0": 0, "1.5": 1500 * time.Millisecond, "500ms": 500 * time.Millisecond, "1 s": second, "2m": 2 * minute,
		"1h30m": 90 * minute, "1h 30m": 90 * minute, "1d": 24 * time.Hour, "1.5d12h": 48 * time.Hour, "1.5s": 1500 * time.Millisecond,
		"1d1h1m1s1ms1us1ns": 25*time.Hour + minute + second + time.Millisecond + time.Microsecond + 1,
		"1µs":               1000, "1μs": 1000, "0.000000001": 1, "0.1s": 100 * time.Millisecond, "0.3h": 18 * minute,
		"1.00000000000000000000000000000": second, "00001s": second, "0.0000000015625h": 5625,
		"2562047h47m16.854775806s": retry.Forever - 1, "9223372036.854775806": retry.Forever - 1, "forever": retry.Forever,
		"106751d23h47m16.854775806s": retry.Forever - 1,
	} {
		if got := mustParse(t, "[retry: 1, fixed: "+text+"]").Backoff; got != retry.Fixed(want) {
			t.Errorf("%s is %s, want %s", text, got.Initial, want)
		}
	}
}

// TestR20_EveryDurationIsPrintedAsItself to the nanosecond.
func TestR20_EveryDurationIsPrintedAsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := retry.Policy{AttemptTimeout: anyDuration().Draw(t, "d")}
		got, err := retry.Parse(want.String())
		if err != nil || got.AttemptTimeout != want.AttemptTimeout {
			t.Fatalf("%s is read as %s, %v", want, got, err)
		}
	})
}

// TestR20_ADurationDoesNotWrap: 2^64 nanoseconds and some are not those some.
func TestR20_ADurationDoesNotWrap(t *testing.T) {
	for _, text := range []string{"18446744074s", "99999999999999999999ns", "9223372037s", "5124095577h"} {
		if p, err := retry.Parse("[timeout: " + text + "]"); err == nil {
			t.Errorf("%s is read as %s", text, p.AttemptTimeout)
		}
	}
}

func TestR21_WithoutBackoffRetriesAreImmediate(t *testing.T) {
	for _, text := range []string{"[retry: 3]", "[A -> retry: 3]", "[retry: 3, backoff: 1h] [A -> retry: 3]"} {
		p := mustParse(t, text)
		d := retry.Decide(&p, retry.State{Attempt: 2}, retry.Failure{Types: []string{"A"}}, time.Unix(0, 0), 0.9)
		if !d.Retry || d.Delay != 0 || d.Reason != retry.ReasonImmediate {
			t.Errorf("%s: %+v", text, d)
		}
	}
}

// TestR21_EveryKeySetsItsField: the keys beside those of the five lines.
func TestR21_EveryKeySetsItsField(t *testing.T) {
	base := func(b retry.Backoff, j retry.Jitter) retry.Policy {
		return retry.Policy{MaxAttempts: 2, Backoff: b, Jitter: j, OnTimeout: retry.StopOnTimeout}
	}
	cases := map[string]retry.Policy{
		"[retry: 1, backoff: 1]":                       base(exponential(second), retry.Jitter{}),
		"[retry: 1, backoff: 1, factor: 1.25]":         base(retry.Exponential(second, 1.25, 0), retry.Jitter{}),
		"[retry: 1, backoff: 1, max: 9s]":              base(retry.Exponential(second, 2, 9*second), retry.Jitter{}),
		"[retry: 1, fixed: 1]":                         base(retry.Fixed(second), retry.Jitter{}),
		"[retry: 1, linear: 1]":                        base(retry.Linear(second, 0), retry.Jitter{}),
		"[retry: 1, linear: 1, max: 1m, jitter: full]": base(retry.Linear(second, minute), retry.FullJitter),
		"[retry: 1, fixed: 1, jitter: none]":           base(retry.Fixed(second), retry.NoJitter),
		"[retry: 1, fixed: 1, jitter: equal]":          base(retry.Fixed(second), retry.EqualJitter),
		"[retry: 1, backoff: 1, jitter: decorrelated]": base(exponential(second), retry.Decorrelated),
		"[retry: 1, fixed: 1, jitter: 7%]":             base(retry.Fixed(second), retry.Proportional(0.07)),
		"[retry: 1, fixed: 1, jitter: 12.5 %]":         base(retry.Fixed(second), retry.Proportional(0.125)),
		"[retry: 1, fixed: 1, jitter: 100%]":           base(retry.Fixed(second), retry.Proportional(1)),
		"[A -> stop]":                                  once(retry.Policy{Rules: []retry.Rule{{Types: []string{"A"}, Stop: true}}}),
		"[timeout: 5]":                                 once(retry.Policy{AttemptTimeout: 5 * second}),
		"[heartbeat: 5]":                               once(retry.Policy{HeartbeatTimeout: 5 * second}),
		"[queue: 5]":                                   once(retry.Policy{QueueTimeout: 5 * second}),
		"[within: 5]":                                  once(retry.Policy{Within: 5 * second}),
		"[only: A]":                                    once(retry.Policy{Retryable: []string{"A"}}),
		"[never: (A, \"B[int]\")]":                     once(retry.Policy{NonRetryable: []string{"A", "B[int]"}}),
		"[pause]":                                      once(retry.Policy{OnExhausted: retry.Pause}),
		"[max-retry-after: 2m]":                        once(retry.Policy{MaxServerDelay: 2 * minute}),
		"[unknown: pause]":                             once(retry.Policy{OnUnknown: retry.PauseUnknown}),
		"[crashes: 7]":                                 once(retry.Policy{CrashLimit: 7}),
	}
	used := map[string]bool{"on-timeout": true} // see R23
	for text, want := range cases {
		if got := mustParse(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %#v\nwant %#v", text, got, want)
		}
		for _, k := range notation.Keys {
			used[k.Name] = used[k.Name] || strings.Contains(text, k.Name)
		}
	}
	for _, k := range notation.Keys {
		if !used[k.Name] {
			t.Errorf("no case has the key %s", k.Name)
		}
	}
}

// TestR21_ABracketTakesNothingFromAnother: each says all of its own schedule.
func TestR21_ABracketTakesNothingFromAnother(t *testing.T) {
	p := mustParse(t, "[retry: 3, backoff: 10, jitter: none] [A -> retry: 3, backoff: 10]")
	delay := func(errorType string) time.Duration {
		return retry.Decide(&p, retry.State{Attempt: 1}, retry.Failure{Types: []string{errorType}}, time.Unix(0, 0), 0).Delay
	}
	if delay("B") != 10*second || delay("A") != 9*second {
		t.Errorf("without jitter %s, with that of the bracket %s", delay("B"), delay("A"))
	}
}

// judge says what a policy makes of the first failure of a type.
func judge(p retry.Policy, errorType string, kind retry.TimeoutKind) retry.Reason {
	return retry.Decide(&p, retry.State{Attempt: 1}, retry.Failure{Types: []string{errorType}, Timeout: kind}, time.Unix(0, 0), 0.5).Reason
}

func TestR22_OnlyTypedBracketsLeaveOtherErrorsAlone(t *testing.T) {
	p := mustParse(t, "[NetworkError -> retry: 5, backoff: 2m] [Busy -> retry: 1]")
	for errorType, want := range map[string]retry.Reason{
		"NetworkError": retry.ReasonBackoff, "Busy": retry.ReasonImmediate,
		"Other": retry.ReasonNotRetryable, "Error": retry.ReasonNotRetryable,
	} {
		if got := judge(p, errorType, ""); got != want {
			t.Errorf("%s: %s, want %s", errorType, got, want)
		}
	}
}

func TestR22_ABracketForAllDoesNotRetryTimeouts(t *testing.T) {
	all := mustParse(t, "[retry: 3, backoff: 1] [timeout: 5, heartbeat: 1]")
	named := mustParse(t, "[retry: 3, backoff: 1] [Timeout, HeartbeatTimeout -> retry: 3] [timeout: 5, heartbeat: 1]")
	for errorType, kind := range map[string]retry.TimeoutKind{
		retry.TypeTimeout: retry.TimeoutAttempt, retry.TypeHeartbeatTimeout: retry.TimeoutHeartbeat,
	} {
		if got := judge(all, errorType, kind); got != retry.ReasonTimeout {
			t.Errorf("%s: %s, want %s", errorType, got, retry.ReasonTimeout)
		}
		if got := judge(named, errorType, kind); got != retry.ReasonImmediate {
			t.Errorf("%s by name: %s, want %s", errorType, got, retry.ReasonImmediate)
		}
	}
	if got := judge(all, "Other", ""); got != retry.ReasonBackoff {
		t.Errorf("other errors: %s", got)
	}
}

func TestR23_OfSeveralTimeoutsTheSmallestHolds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"[timeout: 2m] [timeout: 30s] [timeout: 1h]": 30 * second,
		"[timeout: 0] [timeout: 30s] [timeout: 0]":   30 * second,
		"[timeout: forever] [timeout: 30s]":          30 * second,
		"[retry: 1]":                                 0,
	} {
		if got := mustParse(t, text).AttemptTimeout; got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	p := mustParse(t, "[heartbeat: 5, queue: 5, within: 5] [heartbeat: 4, queue: 4, within: 4] [heartbeat: 6, queue: 6, within: 6]")
	if p.HeartbeatTimeout != 4*second || p.QueueTimeout != 4*second || p.Within != 4*second {
		t.Errorf("got %s", p)
	}
}

// TestR17_ABoundOfZeroIsRefused where it is the only one of its kind. A file that was
// accepted once is still read.
func TestR17_ABoundOfZeroIsRefused(t *testing.T) {
	for _, key := range []string{"timeout", "heartbeat", "queue", "within"} {
		for _, zero := range []string{"0", "0s", "0m"} {
			text := fmt.Sprintf("[retry: 3] [%s: %s]", key, zero)
			_, err := retry.Parse(text)
			wrong, is := errors.AsType[*retry.NotationError](err)
			if !is || wrong.Offset != strings.LastIndex(text, zero) || !strings.Contains(wrong.Expected, "no "+key) {
				t.Errorf("%s: %v", text, err)
			}
			if p, _, err := retry.ParseAt(text, 0); err != nil || p.MaxAttempts != 4 {
				t.Errorf("%s in a file: %v, %v", text, p, err)
			}
		}
	}
}

func TestR23_TimeoutsStopUnlessSaidOtherwise(t *testing.T) {
	for text, want := range map[string]retry.OnTimeout{
		"[retry: 3]": retry.StopOnTimeout, "[retry: 3, on-timeout: stop]": retry.StopOnTimeout,
		"[retry: 3] [on-timeout: retry]": retry.RetryTimeouts, "[on-timeout: retry] [retry: 3]": retry.RetryTimeouts,
		"[Timeout -> retry: 3]": retry.StopOnTimeout, // the rule is an exception from it
	} {
		if got := mustParse(t, text).OnTimeout; got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// anyTypeName draws names of error types, those that need quotes included.
func anyTypeName() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"A", "Timeout", "net.OpError", "a-b", "A-", "->", "A->B", `"`, `\`, "[", "],", "(x)", "#", "ファイル", "retry", "stop", "forever", "B[int]", "7", "\u200b"}),
		rapid.StringN(1, 8, 30).Filter(func(s string) bool {
			return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
		}),
	)
}

// anyWritten draws valid policies as Go has them.
func anyWritten() *rapid.Generator[retry.Policy] {
	types := rapid.SliceOfN(anyTypeName(), 1, 3)
	return rapid.Custom(func(t *rapid.T) retry.Policy {
		p := anyPolicy().Draw(t, "policy")
		for i := range p.Rules {
			r := &p.Rules[i]
			r.Types = types.Draw(t, "rule types")
			if !r.Stop && rapid.Bool().Draw(t, "inherits attempts") {
				r.MaxAttempts = 0
			}
		}
		if len(p.Retryable) > 0 {
			p.Retryable = types.Draw(t, "retryable")
		}
		if rapid.Bool().Draw(t, "no within") {
			p.Within = 0
		}
		return p
	}).Filter(func(p retry.Policy) bool { return p.Validate() == nil })
}

// plain is a policy with its defaults written out and without what no decision
// depends on: two policies that mean the same are equal.
func plain(p retry.Policy) retry.Policy {
	p = p.WithDefaults()
	p.Backoff, p.Jitter = plainSchedule(p.MaxAttempts, p.Backoff, p.Jitter)
	p.Rules = slices.Clone(p.Rules)
	for i := range p.Rules {
		r := &p.Rules[i]
		r.Backoff, r.Jitter = plainSchedule(r.MaxAttempts, r.Backoff, r.Jitter)
	}
	return p
}

func plainSchedule(attempts int, b retry.Backoff, j retry.Jitter) (retry.Backoff, retry.Jitter) {
	if attempts == 1 {
		b = retry.None
	}
	if b.Kind == retry.None.Kind {
		j = retry.NoJitter
	}
	return b, j
}

// TestR23_TextExpressesEveryPolicy that Go can, and Decide says the same.
func TestR23_TextExpressesEveryPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyWritten().Draw(t, "policy")
		back, err := retry.Parse(p.String())
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		if a, b := plain(p), plain(back); !reflect.DeepEqual(a, b) {
			t.Fatalf("%s\n%#v\n%#v", p, a, b)
		}
		if back.String() != p.String() {
			t.Fatalf("first %s, then %s", p, back)
		}
		s, f, now, u := anyState(t), anyFailure(t), time.Unix(1000, 0), anyDraw().Draw(t, "u")
		if a, b := retry.Decide(&p, s, f, now, u), retry.Decide(&back, s, f, now, u); a != b {
			t.Fatalf("%s: got %+v and %+v", p, a, b)
		}
	})
}

// TestR24_ErrorsSayWhereAndWhat: the rest is in testdata/notation_errors.golden.
func TestR24_ErrorsSayWhereAndWhat(t *testing.T) {
	_, err := retry.Parse("# a policy\n[ché -> retry: 3]\n  [ 'x' ]")
	e, ok := errors.AsType[*retry.NotationError](err)
	if !ok || e.Line != 3 || e.Column != 5 || e.Offset != 34 || e.Token != "'x'" || e.Problem == "" || e.Expected == "" {
		t.Errorf("got %#v", err)
	}
	_, err = retry.Parse("[ché -> retry: x]")
	if e, ok := errors.AsType[*retry.NotationError](err); !ok || e.Column != 16 || e.Offset != 16 {
		t.Errorf("a column is not a character: %#v", err)
	}
}

func TestR24_ParseAtHasThePositionsOfTheWholeText(t *testing.T) {
	const text = "fn main():\n    @charge() [retry: 3, backoff: 60] \t[timeout: 2m]  # and so on\n    [retry: 4]"
	at := strings.Index(text, "[retry")
	p, end, err := retry.ParseAt(text, at)
	if err != nil || p.String() != "[retry: 3, backoff: 1m] [timeout: 2m]" || text[:end] != text[:strings.Index(text, "  # and")] {
		t.Errorf("got %s, %q, %v", p, text[at:end], err)
	}
	broken := strings.Replace(text, "2m", "2x", 1)
	_, _, err = retry.ParseAt(broken, at)
	if e, ok := errors.AsType[*retry.NotationError](err); !ok || e.Line != 2 || e.Column != 51 || e.Token != "x" {
		t.Errorf("got %v", err)
	}
	for _, offset := range []int{-5, 0, at + 1, len(text), len(text) + 7} {
		if _, _, err := retry.ParseAt(text, offset); err == nil {
			t.Errorf("there is a bracket at %d", offset)
		}
	}
}

func TestR17_ATextIsReadWhereverAPolicyIs(t *testing.T) {
	var config struct{ Policy retry.Policy }
	if err := json.Unmarshal([]byte(`{"policy": "[retry: 3, backoff: 60] [timeout: 2m]"}`), &config); err != nil {
		t.Fatal(err)
	}
	if want := mustParse(t, "[retry: 3, backoff: 1m] [timeout: 2m]"); !reflect.DeepEqual(config.Policy, want) {
		t.Errorf("got %s", config.Policy)
	}
	if written, err := json.Marshal(config.Policy); err != nil || written[0] != '{' {
		t.Errorf("a policy is written as %s, %v; history needs an object", written, err)
	}
	err := json.Unmarshal([]byte(`{"policy": "[retry: x]"}`), &config)
	if _, ok := errors.AsType[*retry.NotationError](err); !ok {
		t.Errorf("got %v", err)
	}
	var p retry.Policy
	if err := p.UnmarshalJSON([]byte(`"[retry: 1]" 2`)); err == nil {
		t.Error("two values are accepted")
	}
}

func TestR17_TextRoundTripsByTheInterfacesOfGo(t *testing.T) {
	written, err := retry.Standard.MarshalText()
	if err != nil || string(written) != "[retry: 4, backoff: 1s, max: 1m] [within: 5m, on-timeout: retry]" {
		t.Errorf("got %s, %v", written, err)
	}
	var p retry.Policy
	if err := p.UnmarshalText(written); err != nil || !reflect.DeepEqual(p, retry.Standard) {
		t.Errorf("got %s, %v", p, err)
	}
	if err := p.UnmarshalText([]byte("[")); err == nil || !reflect.DeepEqual(p, retry.Standard) {
		t.Errorf("a broken text changes the policy to %s, %v", p, err)
	}
}

func TestR17_LogsShowTheNotation(t *testing.T) {
	for name, handler := range map[string]func(io.Writer) slog.Handler{
		"text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
		"JSON": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
	} {
		var out strings.Builder
		slog.New(handler(&out)).Info("starts", "policy", retry.Quick)
		if !strings.Contains(out.String(), `"[retry: 2, backoff: 100ms, max: 30s] [on-timeout: retry]"`) {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}
