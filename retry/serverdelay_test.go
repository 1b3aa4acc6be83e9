package retry_test

import (
	"io"
	"math"
	"testing"
	"time"

	"github.com/perdure/perdure/retry"
)

func TestR7_RetryAfter(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.FixedZone("elsewhere", 3600))
	for value, want := range map[string]time.Duration{
		"0": 0, "120": 2 * time.Minute, " 7 ": 7 * time.Second, "007": 7 * time.Second,
		"99999999999": retry.Forever, "99999999999999999999999999": retry.Forever,
		"Sun, 01 Mar 2026 11:01:30 GMT":   90 * time.Second,
		"Sunday, 01-Mar-26 11:01:30 GMT":  90 * time.Second,
		"Sun Mar  1 11:01:30 2026":        90 * time.Second,
		"Sun, 01 Mar 2020 11:01:30 GMT":   -1, // the backoff says when
		"Sun, 01 Mar 2026 11:00:00 GMT":   -1,
		"Fri, 31 Dec 9999 23:59:59 GMT":   retry.Forever,
		"Mon, 01 Jan 0001 00:00:00 GMT":   -1,
		"":                                -1,
		"-5":                              -1,
		"+5":                              -1,
		"1.5":                             -1,
		"1e3":                             -1,
		"5s":                              -1,
		"soon":                            -1,
		"Sun, 01 Mar 2026 11:01:30 +0100": -1,
		"Sun, 99 Mar 2026 11:01:30 GMT":   -1,
		"٣":                               -1,
	} {
		f := retry.Classify(retry.AfterHTTP(io.EOF, value, now))
		if f.Asked != (want >= 0) || f.After != max(want, 0) || f.Terminal || f.Type() != "EOF" {
			t.Errorf("%q: got %+v, want %s", value, f, want)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	f.Add("120", int64(0))
	f.Add("Sun, 01 Mar 2026 11:01:30 GMT", int64(1772362800))
	f.Add("99999999999999999999999999", int64(math.MaxInt64))
	f.Add("-1", int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, value string, now int64) {
		if f := retry.Classify(retry.AfterHTTP(io.EOF, value, time.Unix(now, 0))); f.After < 0 || (!f.Asked && f.After != 0) {
			t.Fatalf("%q gives %+v", value, f)
		}
	})
}
