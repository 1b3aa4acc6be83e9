package retry_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/perdure/perdure/retry"
)

// TestR25_PrintingIsStable for texts in any spelling.
func TestR25_PrintingIsStable(t *testing.T) {
	for text, want := range map[string]string{
		"[retry:3,backoff:60][timeout:120]":                 "[retry: 3, backoff: 1m] [timeout: 2m]",
		"[timeout: 2m] [retry: 3]":                          "[retry: 3] [timeout: 2m]",
		"\t[ A,B->retry:0 ] # once\n[\n(C) -> stop # no\n]": "[(A, B) -> retry: 0] [C -> stop]",
		`["A" -> retry: 1]`:                                 "[A -> retry: 1]",
		"[retry: 0, backoff: 5, jitter: full]":              "[retry: 0, backoff: 5s, jitter: full]",
		"[retry: 1, backoff: 86400, factor: 2.0]":           "[retry: 1, backoff: 1d]",
		"[retry: 1, fixed: 90.5]":                           "[retry: 1, fixed: 1m30.5s]",
		"[retry: 1, fixed: 1, jitter: 07.50%]":              "[retry: 1, fixed: 1s, jitter: 7.5%]",
		"[retry: 2, pause, within: 1h]":                     "[retry: 2] [within: 1h, pause]",
	} {
		if got := mustParse(t, text).String(); got != want {
			t.Errorf("%s is printed as %s, want %s", text, got, want)
		}
	}
}

// TestR25_LongTextsTakeLinearTime: a megabyte of anything would not end if time
// grew with the square.
func TestR25_LongTextsTakeLinearTime(t *testing.T) {
	size := 1 << 20
	if testing.Short() {
		size = 1 << 18
	}
	for _, unit := range []string{"[", "(", "]", "[(", "[A, ", "A", "A,", "[A -> retry: 1]", "[timeout: 1]", "[timeout: ", "1", "#", "# \n", " ", "\n", `"`, `\`, `["`, "->", "[A->", "\xff", "é", "[timeout: 1, heartbeat: 1", ":"} {
		long := strings.Repeat(unit, size/len(unit))
		for _, text := range []string{long, "[" + long, "[retry: " + long, "[retry: 1, fixed: 0." + long, "[A, " + long, `["` + long + `"`, "[timeout: " + long} {
			if p, err := retry.Parse(text); err == nil {
				_ = p.String()
			} else if len(err.Error()) > 1000 {
				t.Errorf("the error for many %q has %d bytes", unit, len(err.Error()))
			}
		}
	}
}

// FuzzParse: no text panics; what is read is valid, and printed as itself; what
// is not is located in the text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"[retry: 3, backoff: 60]", "[NetworkError -> retry: 5, backoff: 2m]", "[(ValueError, KeyError) -> retry: 3, backoff: 30s]",
		"[RateLimitError -> retry: 10, backoff: 1m] [NetworkError -> retry: 3, backoff: 30s]", "[retry: 3, backoff: 60] [timeout: 2m]",
		`[retry: unlimited, linear: 1.5s, max: 1d, jitter: 7%, within: forever] ["a[]" -> stop] [on-timeout: retry, never: (A, "->")]`,
		"[retry: 1, backoff: 1h30m, factor: 1.25, max: 2d, jitter: decorrelated, only: A, pause, max-retry-after: 1us, crashes: 2]",
		"[A -> retry: 0] # b\n[Timeout, HeartbeatTimeout->retry: 2] [heartbeat: 1, queue: 2.5ms, within: 3]", "[backoff: 30s]", "[retry: 1.5]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := retry.Parse(text)
		if err == nil {
			mustBeStable(t, p)
			return
		}
		e, ok := errors.AsType[*retry.NotationError](err)
		if !ok || e.Offset < 0 || e.Offset > len(text) || e.Line < 1 || e.Column < 1 {
			t.Fatalf("%q: %#v", text, err)
		}
		if at := strings.TrimSuffix(e.Token, "..."); !strings.HasPrefix(text[e.Offset:], at) {
			t.Fatalf("%q: %q does not stand at %d", text, at, e.Offset)
		}
	})
}

func TestR25_WhatIsInvalidIsPrintedAsWell(t *testing.T) {
	for _, p := range []retry.Policy{
		{MaxAttempts: -3}, {Backoff: retry.Exponential(-1, math.NaN(), -1)}, {Jitter: retry.Proportional(math.NaN())},
		{Jitter: retry.Proportional(math.Inf(-1))}, {Jitter: retry.Proportional(-0.5)}, {Backoff: retry.Backoff{Kind: 9}}, {Jitter: retry.Jitter{Kind: 9}},
		{OnTimeout: 9}, {OnExhausted: 9}, {Rules: []retry.Rule{{}}}, {Retryable: []string{""}}, {CrashLimit: -1}, {NonRetryable: []string{"\xff \x00"}},
	} {
		if text := p.String(); !strings.HasPrefix(text, "[") || !strings.HasSuffix(text, "]") || !utf8.ValidString(text) {
			t.Errorf("got %q", text)
		}
		if text, err := p.MarshalText(); err == nil {
			t.Errorf("%s is written", text)
		}
	}
}
