package retry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/notation"
	"github.com/perdure/perdure/retry"
)

// TestF13_AnEditChangesWhatItNames and nothing else.
func TestF13_AnEditChangesWhatItNames(t *testing.T) {
	whole := parsed(t, `[retry: 4, fixed: 10m, jitter: none] [Declined -> stop] [within: 1h, on-timeout: retry, never: Lost]`)
	for _, c := range []struct{ change, want string }{
		{`[retry: 20]`, `[retry: 20, fixed: 10m, jitter: none] [Declined -> stop] [within: 1h, on-timeout: retry, never: Lost]`},
		{`[retry: 20, backoff: 1m]`, `[retry: 20, backoff: 1m, jitter: none] [Declined -> stop] [within: 1h, on-timeout: retry, never: Lost]`},
		{`[backoff: 1m]`, `[retry: 4, backoff: 1m, jitter: none] [Declined -> stop] [within: 1h, on-timeout: retry, never: Lost]`},
		{`[linear: 1m, max: 5m, jitter: full] [within: 2h]`, `[retry: 4, linear: 1m, max: 5m, jitter: full] [Declined -> stop] [within: 2h, on-timeout: retry, never: Lost]`},
		{`[jitter: 30%]`, `[retry: 4, fixed: 10m, jitter: 30%] [Declined -> stop] [within: 1h, on-timeout: retry, never: Lost]`},
		{`[retry: unlimited]`, `[retry: unlimited, fixed: 10m, jitter: none] [Declined -> stop] [within: 1h, on-timeout: retry, never: Lost]`},
		{`[within: 2h]`, `[retry: 4, fixed: 10m, jitter: none] [Declined -> stop] [within: 2h, on-timeout: retry, never: Lost]`},
		{`[on-timeout: stop, pause]`, `[retry: 4, fixed: 10m, jitter: none] [Declined -> stop] [within: 1h, never: Lost, pause]`},
		{`[Busy -> retry: 9, fixed: 1s, jitter: none]`, `[retry: 4, fixed: 10m, jitter: none] [Busy -> retry: 9, fixed: 1s, jitter: none] [within: 1h, on-timeout: retry, never: Lost]`},
		{`[backoff: 1m] [retry: 20]`, `[retry: 20, backoff: 1m, jitter: none] [Declined -> stop] [within: 1h, on-timeout: retry, never: Lost]`},
		{"[retry: 20] # was [backoff: 1m]", `[retry: 20, fixed: 10m, jitter: none] [Declined -> stop] [within: 1h, on-timeout: retry, never: Lost]`},
		{`[never: "a][backoff:"]`, `[retry: 4, fixed: 10m, jitter: none] [Declined -> stop] [within: 1h, on-timeout: retry, never: "a][backoff:"]`},
		{`{"within": null, "max_attempts": 2}`, `[retry: 1, fixed: 10m, jitter: none] [Declined -> stop] [on-timeout: retry, never: Lost]`},
	} {
		got, err := whole.Edit(c.change)
		if want := parsed(t, c.want); err != nil || got.String() != want.String() {
			t.Errorf("%s gives\n%s, %v; want\n%s", c.change, got, err, want)
		}
	}
	same, err := whole.Edit(whole.String())
	if err != nil || same.String() != whole.String() {
		t.Errorf("its own text makes it %s, %v", same, err)
	}
	for _, change := range []string{``, `{}`, `[retry: x]`, `{"within": 7}`, `{"witin": "1h"}`, `[1]`, `[max: 3s]`, `[factor: 3]`, `[Busy -> backoff: 3s]`} {
		if got, err := whole.Edit(change); err == nil || got.String() != whole.String() {
			t.Errorf("%q: %s, %v", change, got, err)
		}
	}
	// Each key of the notation names a field.
	for _, k := range notation.Keys {
		if k.Where == notation.Alone {
			continue
		}
		value := map[string]string{"retry": "3", "crashes": "2", "jitter": "none", "on-timeout": "retry", "only": "E", "never": "E", "factor": "3", "unknown": "pause"}[k.Name]
		text := k.Name
		switch {
		case k.Value == "":
		case value == "":
			text += ": " + time.Minute.String()
		default:
			text += ": " + value
		}
		switch k.Where {
		case notation.AfterRetry:
			text = "retry: 3, " + text
		case notation.AfterDelay:
			text = "retry: 3, backoff: 1s, " + text
		}
		text = strings.ReplaceAll("["+text+"]", "1m0s", "1m")
		edited, err := retry.Policy{}.Edit(text)
		if whole := parsed(t, text); err != nil || strings.Contains(whole.String(), k.Name) && !strings.Contains(edited.String(), k.Name) {
			t.Errorf("%s on nothing gives %s, %v", text, edited, err)
		}
	}
}

func parsed(t *testing.T, text string) retry.Policy {
	t.Helper()
	p, err := retry.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// TestF13_AnEditLeavesTheOriginalAlone also when somebody writes into its lists later.
func TestF13_AnEditLeavesTheOriginalAlone(t *testing.T) {
	for _, change := range []string{"[within: 1h]", `{"within": "1h"}`} {
		p := retry.Policy{Retryable: []string{"A"}, NonRetryable: []string{"B"}, Rules: []retry.Rule{{Types: []string{"C"}, MaxAttempts: 3}}}
		edited, err := p.Edit(change)
		if err != nil {
			t.Fatal(err)
		}
		edited.Retryable[0], edited.NonRetryable[0], edited.Rules[0].Stop, edited.Rules[0].Types[0] = "x", "x", true, "x"
		if p.Retryable[0] != "A" || p.NonRetryable[0] != "B" || p.Rules[0].Stop || p.Rules[0].Types[0] != "C" {
			t.Errorf("after %s the original is %+v", change, p)
		}
	}
}
