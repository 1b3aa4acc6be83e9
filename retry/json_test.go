package retry_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/retry"
)

func TestR17_JSONIsReadable(t *testing.T) {
	p := retry.Policy{
		MaxAttempts:    retry.Unlimited,
		Backoff:        retry.Exponential(90*time.Second, 1.5, time.Hour),
		Jitter:         retry.Proportional(0.25),
		AttemptTimeout: 1500 * time.Millisecond,
		Within:         retry.Forever,
		OnTimeout:      retry.StopOnTimeout,
		NonRetryable:   []string{"CardDeclined"},
		Rules:          []retry.Rule{{Types: []string{"RateLimit"}, MaxAttempts: 3, Backoff: retry.None}},
		OnExhausted:    retry.Pause,
	}
	const want = `{"max_attempts":"unlimited",` +
		`"backoff":{"kind":"exponential","initial":"1m30s","coefficient":1.5,"max":"1h"},` +
		`"jitter":{"kind":"proportional","proportion":0.25},"attempt_timeout":"1.5s","within":"forever","on_timeout":"stop",` +
		`"non_retryable":["CardDeclined"],"rules":[{"types":["RateLimit"],"max_attempts":3,"backoff":{"kind":"none"}}],"on_exhausted":"pause"}`
	got, err := json.Marshal(p)
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	if got, err := json.Marshal(retry.Policy{}); err != nil || string(got) != "{}" {
		t.Errorf("the zero policy is %s, %v", got, err)
	}
}

func TestR17_JSONRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPolicy().Draw(t, "policy")
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var back retry.Policy
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if !reflect.DeepEqual(p, back) {
			t.Fatalf("%s:\n%+v\n%+v", data, p, back)
		}
	})
}

func TestR17_JSONRefusesWhatItDoesNotKnow(t *testing.T) {
	for text, want := range map[string]string{
		`{"speed":3}`:                       `unknown field "speed"`,
		`{"backoff":{"kind":"fast"}}`:       `"fast" is not one of "none", "fixed", "linear", "exponential"`,
		`{"backoff":{"jitter":"full"}}`:     `unknown field "jitter"`,
		`{"jitter":{"kind":""}}`:            `is not one of`,
		`{"rules":[{"type":"A"}]}`:          `unknown field "type"`,
		`{"within":60}`:                     `60 is not a duration; write a string with a unit, such as "1m30s" or "forever"`,
		`{"within":"60"}`:                   `"60" is not a duration`,
		`{"max_attempts":"many"}`:           `"many" is not a number of attempts; write a whole number or "unlimited"`,
		`{"max_attempts":2.5}`:              `2.5 is not a number of attempts`,
		`{"on_timeout":"RETRY"}`:            `"RETRY" is not one of "retry", "stop"`,
		`{"on_exhausted":"stop"}`:           `"stop" is not one of "fail", "pause"`,
		`[]`:                                `cannot unmarshal array`,
		`{"crash_limit":1}{"crash_limit":}`: `invalid character`,
	} {
		var p retry.Policy
		if err := json.Unmarshal([]byte(text), &p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	var p retry.Policy
	if err := p.UnmarshalJSON([]byte(`{} {}`)); err == nil {
		t.Error("two values are accepted")
	}
}

func TestR17_JSONFailsForWhatItCannotSay(t *testing.T) {
	for _, p := range []retry.Policy{
		{Backoff: retry.Exponential(1, math.NaN(), 0)},
		{Jitter: retry.Proportional(math.Inf(1))},
		{OnTimeout: 7}, {OnExhausted: 7}, {Backoff: retry.Backoff{Kind: 7}}, {Jitter: retry.Jitter{Kind: 17}},
	} {
		if data, err := json.Marshal(p); err == nil {
			t.Errorf("%+v becomes %s", p, data)
		}
	}
}

// FuzzPolicyJSON: what can be read can be written, and is then the same.
func FuzzPolicyJSON(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"max_attempts":"unlimited","within":"forever","backoff":{"kind":"linear","initial":"1h30m","max":"2562047h47m16.854775807s"}}`))
	f.Add([]byte(`{"jitter":{"kind":"decorrelated"},"rules":[{"types":["A"],"stop":true}],"retryable":[],"crash_limit":-1}`))
	f.Add([]byte(`"[retry: 3, backoff: 60] [A -> stop] [timeout: 2m]"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p, back retry.Policy
		if json.Unmarshal(data, &p) != nil {
			return
		}
		_ = p.Validate()
		written, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("%s was read as %+v, which cannot be written: %v", data, p, err)
		}
		if err := json.Unmarshal(written, &back); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(written) {
			t.Fatalf("first %s, then %s, %v", written, again, err)
		}
	})
}
