package retry_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/retry"
)

// mustExplain explains a policy in text.
func mustExplain(t *testing.T, text string, layers int) *retry.Explanation {
	t.Helper()
	e, err := retry.Explain(mustParse(t, text), layers)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// kinds are those of the warnings.
func kinds(e *retry.Explanation) []string {
	var all []string
	for _, w := range e.Warnings {
		all = append(all, w.Kind)
	}
	return all
}

// TestF4_TheScheduleIsThatOfDecide for each kind of jitter.
func TestF4_TheScheduleIsThatOfDecide(t *testing.T) {
	for text, want := range map[string]string{
		"[retry: 3, backoff: 60]":                              "1:0s,0s,0s 2:1m0s,54s,1m6s 3:3m0s,2m42s,3m18s 4:7m0s,6m18s,7m42s",
		"[retry: 2, fixed: 10, jitter: full]":                  "1:0s,0s,0s 2:10s,0s,10s 3:20s,0s,20s",
		"[retry: 2, linear: 10, max: 15, jitter: equal]":       "1:0s,0s,0s 2:10s,5s,10s 3:25s,12.5s,25s",
		"[retry: 2, backoff: 1, max: 5, jitter: none]":         "1:0s,0s,0s 2:1s,1s,1s 3:3s,3s,3s",
		"[retry: 3, backoff: 1, max: 5, jitter: decorrelated]": "1:0s,0s,0s 2:1s,1s,3s 3:3s,2s,8s 4:7s,3s,13s",
		"[retry: 3]":                         "1:0s,0s,0s 2:0s,0s,0s 3:0s,0s,0s 4:0s,0s,0s",
		"[retry: 3, fixed: 10] [within: 21]": "1:0s,0s,0s 2:10s,9s,11s 3:20s,18s,21s",
	} {
		e := mustExplain(t, text, 1)
		var got []string
		for _, a := range e.Schedules[0].Attempts {
			near := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) } // the largest draw is below 1
			got = append(got, fmt.Sprintf("%d:%s,%s,%s", a.Number, a.Start, near(a.Earliest), near(a.Latest)))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s:\ngot  %s\nwant %s", text, s, want)
		}
	}
}

func TestF4_WhatIsRetriedAndWhatIsNot(t *testing.T) {
	e := mustExplain(t, "[retry: 3, backoff: 1] [(Net, Busy) -> retry: 5] [Declined -> stop] [never: Fatal, timeout: 5]", 1)
	var got []string
	for _, v := range e.Verdicts {
		got = append(got, fmt.Sprintf("%s: %v %s %d %d", v.Errors, v.Retried, v.Reason, v.Rule, v.Attempts))
	}
	want := []string{
		"Net, Busy: true immediate 0 6", "Declined: false stop_rule 1 1", "Fatal: false non_retryable -1 1",
		"Timeout: false timeout -1 1", "any other error: true backoff -1 4",
		"an error marked terminal: false terminal -1 1", "a cancellation: false canceled -1 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if len(e.Schedules) != 2 || e.Schedules[0].Rule != 0 || e.Schedules[1].Errors != "any other error" {
		t.Errorf("got %+v", e.Schedules)
	}
}

func TestF4_Totals(t *testing.T) {
	for text, want := range map[string][2]time.Duration{
		"[retry: 3, backoff: 60, jitter: none] [timeout: 2m]":              {7 * minute, 15 * minute},
		"[retry: 3, backoff: 60, jitter: none] [timeout: 2m, within: 10m]": {7 * minute, 12 * minute},
		"[retry: 3, backoff: 60, jitter: none]":                            {7 * minute, retry.Forever},
		"[retry: 0] [timeout: 2m]":                                         {0, 2 * minute},
		"[retry: unlimited, fixed: 1s] [within: forever]":                  {retry.Forever, retry.Forever},
		"[retry: 2000, fixed: 1s, jitter: none] [timeout: 1s]":             {retry.Forever, retry.Forever}, // not followed to the end
		"[retry: 2000, fixed: 1s, jitter: none] [timeout: 1s, within: 1h]": {time.Hour, time.Hour + second},
		"[retry: 1, fixed: forever, jitter: none] [timeout: forever]":      {retry.Forever, retry.Forever},
	} {
		if e := mustExplain(t, text, 1); e.Waits != want[0] || e.Worst != want[1] {
			t.Errorf("%s: waits %s, worst %s, want %s", text, e.Waits, e.Worst, want)
		}
	}
}

// TestF4_WaitsBeyond292Years: the attempts start later than a Duration can say, and
// still each has its wait.
func TestF4_WaitsBeyond292Years(t *testing.T) {
	const century = 36500 * 24 * time.Hour
	for text, want := range map[string][]time.Duration{
		"[retry: 5, fixed: 36500d, jitter: none]":                                 {0, century, century, century, century, century},
		"[retry: 5, linear: 36500d, max: 73000d, jitter: none] [within: forever]": {0, century, 2 * century, 2 * century, 2 * century, 2 * century},
	} {
		e := mustExplain(t, text, 1)
		s := e.Schedules[0]
		if len(s.Attempts) != len(want) || !s.Complete || s.Sure != len(want) || e.Waits != retry.Forever {
			t.Fatalf("%s: %+v, waits %s", text, s, e.Waits)
		}
		last := time.Duration(0)
		for i, a := range s.Attempts {
			if a.Delay != want[i] || a.Start < last || a.Earliest > a.Latest {
				t.Errorf("%s: %+v, want a wait of %s", text, a, want[i])
			}
			last = a.Start
		}
		if last != retry.Forever {
			t.Errorf("%s: the last attempt starts at %s", text, last)
		}
	}
}

func TestF4_Warnings(t *testing.T) {
	for text, want := range map[string][]string{
		"[retry: 3, backoff: 1]":                                       nil,
		"[retry: 1]":                                                   nil,
		"[retry: 3]":                                                   {"immediate"},
		"[retry: 3, fixed: 1, jitter: none]":                           {"no_jitter"},
		"[retry: 3, fixed: 1, jitter: 0%]":                             {"no_jitter"},
		"[retry: 9, backoff: 1m] [within: 10m]":                        {"within_cuts_off"},
		"[retry: 3, backoff: 1m] [within: 30s]":                        {"within_cuts_off"},
		"[retry: 3, fixed: 10, jitter: full] [within: 25]":             {"within_may_cut_off"},
		"[retry: 3, backoff: 1] [within: 1m, timeout: 30s]":            {"slow_attempts"},
		"[retry: 3, backoff: 1] [timeout: 30s]":                        nil,
		"[retry: 3, backoff: 1] [timeout: 30s, on-timeout: retry]":     {"timeouts_retried"},
		"[Timeout -> retry: 3, backoff: 1] [timeout: 30s]":             {"timeouts_retried"},
		"[Timeout -> retry: 3, backoff: 1]":                            {"no_such_timeout"},
		"[retry: 3, backoff: 1] [timeout: 30s, heartbeat: 30s]":        {"heartbeat_too_long"},
		"[retry: unlimited, backoff: 1, max: 60] [within: forever]":    {"unlimited"},
		"[retry: unlimited, backoff: 1, max: 60] [within: 1h]":         nil,
		"[A -> retry: 5, backoff: 1] [(A, B) -> retry: 3, backoff: 1]": nil,
		"[A -> retry: 5, backoff: 1] [A -> retry: 3, backoff: 1]":      {"useless_rule"},
		"[A -> retry: 5, backoff: 1] [never: A]":                       {"useless_rule"},
		"[A -> retry: 5, backoff: 1] [A -> stop]":                      {"useless_rule"},
		"[retry: 2147483645, backoff: 1ms, max: 1ms] [within: 100ms]":  {"within_cuts_off", "within_may_cut_off"},
	} {
		e := mustExplain(t, text, 1)
		if !slices.Equal(kinds(e), want) {
			t.Errorf("%s: %q, want %q", text, e.Warnings, want)
		}
		for _, w := range e.Warnings {
			if !strings.HasSuffix(w.Text, ".") {
				t.Errorf("%q is no sentence", w.Text)
			}
		}
	}
}

// TestF4_LayersMultiply, unless an outer layer stops what an inner one gave up.
func TestF4_LayersMultiply(t *testing.T) {
	for text, want := range map[string][3]int{
		"[retry: 3, backoff: 1]":                            {4, 16, 64},
		"[Net -> retry: 2, backoff: 1]":                     {3, 9, 27},
		"[retry: 3, backoff: 1] [Exhausted -> stop]":        {4, 4, 4},
		"[Net -> retry: 2, backoff: 1] [Exhausted -> stop]": {3, 3, 3},
		"[retry: 0]": {1, 1, 1},
		"[retry: 2000000000, backoff: 1] [within: 1h]": {2000000001, retry.Unlimited, retry.Unlimited},
		"[retry: unlimited, backoff: 1] [within: 1h]":  {retry.Unlimited, retry.Unlimited, retry.Unlimited},
	} {
		for i, n := range want {
			e := mustExplain(t, text, i+1)
			amplified := slices.Contains(kinds(e), "amplification")
			if e.Executions != n || e.Layers != i+1 || amplified != (i > 0 && n > want[0]) {
				t.Errorf("%s in %d layers: %d executions, want %d; warnings %q", text, i+1, e.Executions, n, e.Warnings)
			}
		}
	}
	if e := mustExplain(t, "[retry: 1, fixed: 1]", 1<<60); e.Executions != retry.Unlimited {
		t.Errorf("got %d", e.Executions)
	}
}

// TestF4_ExplanationsFitTogether for any policy.
func TestF4_ExplanationsFitTogether(t *testing.T) {
	if _, err := retry.Explain(retry.Policy{MaxAttempts: -1}, 1); err == nil {
		t.Error("an invalid policy is explained")
	}
	if _, err := retry.Explain(mustParse(t, strings.Repeat("[A -> retry: 1]", 101)), 1); err == nil {
		t.Error("a policy of any size is explained")
	}
	rapid.Check(t, func(t *rapid.T) {
		p := anyWritten().Draw(t, "policy")
		e, err := retry.Explain(p, rapid.IntRange(-1, 5).Draw(t, "layers"))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range e.Schedules {
			if s.Sure < 1 || s.Sure > len(s.Attempts) {
				t.Fatalf("%s: %d of %d attempts are sure", p, s.Sure, len(s.Attempts))
			}
			for i, a := range s.Attempts {
				if a.Number != i+1 || a.Earliest > a.Latest || a.Delay < 0 || a.Latest > e.Waits {
					t.Fatalf("%s: %+v, and waits of %s", p, a, e.Waits)
				}
				if p.Within > 0 && a.Latest > p.Within {
					t.Fatalf("%s: %+v is after Within", p, a)
				}
			}
		}
		if e.Executions < 1 || e.Worst < e.Waits && p.Within == 0 {
			t.Fatalf("%s: %d executions, waits of %s, at worst %s", p, e.Executions, e.Waits, e.Worst)
		}
	})
}

// TestU7_AnExplanationSaysWhatIsAsked: what may have been done is set apart if the policy does so.
func TestU7_AnExplanationSaysWhatIsAsked(t *testing.T) {
	why := func(p retry.Policy) string {
		e, err := retry.Explain(p, 1)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, v := range e.Verdicts {
			lines = append(lines, fmt.Sprintf("%s: %s", v.Errors, v.Why()))
		}
		return strings.Join(lines, "; ")
	}
	late := retry.Policy{AttemptTimeout: time.Second, Backoff: retry.Fixed(time.Second)}
	rest := "any other error: backoff; an error marked terminal: terminal; a cancellation: canceled"
	for o, want := range map[retry.OnUnknown]string{
		0:                   "Timeout: backoff; " + rest,
		retry.VerifyUnknown: "Timeout: asked first; if it was not done: backoff; an error marked unknown: asked first; if it was not done: backoff; " + rest,
		retry.FailUnknown:   "Timeout: unknown_outcome; an error marked unknown: unknown_outcome; an attempt lost with its process: unknown_outcome; " + rest,
	} {
		late.OnUnknown = o
		if got := why(late); got != want {
			t.Errorf("%q: %s", o, got)
		}
	}
}
