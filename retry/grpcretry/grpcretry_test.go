package grpcretry_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/retry/grpcretry"
)

func TestR7_Pushback(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"0": 0, "1500": 1500 * time.Millisecond, "99999999999999999999": retry.Forever, "9223372036855": retry.Forever,
		"-1": -1, "x": -1, "1.5": -1, " ": -1,
	} {
		f := retry.Classify(grpcretry.Pushback(io.EOF, value))
		if f.Terminal != (want < 0) || f.Asked == f.Terminal || f.After != max(want, 0) {
			t.Errorf("%q: got %+v", value, f)
		}
	}
	if err := grpcretry.Pushback(io.EOF, ""); err != io.EOF {
		t.Errorf("an absent trailer gives %v", err)
	}
}

// protoDuration has the getters of a google.protobuf.Duration.
type protoDuration struct {
	seconds int64
	nanos   int32
}

func (d protoDuration) GetSeconds() int64 { return d.seconds }
func (d protoDuration) GetNanos() int32   { return d.nanos }

func TestR7_RetryInfo(t *testing.T) {
	for delay, want := range map[protoDuration]time.Duration{
		{}: 0, {2, 500_000_000}: 2500 * time.Millisecond, {0, 1}: 1,
		{math.MaxInt64, 0}: retry.Forever, {9223372036, 999_999_999}: retry.Forever, {9223372035, 999_999_999}: 9223372035999999999,
		{-1, 0}: -1, {0, -1}: -1, {1, -1}: -1, {0, 1_000_000_000}: -1, {math.MinInt64, math.MinInt32}: -1,
	} {
		f := retry.Classify(grpcretry.RetryInfo(io.EOF, delay))
		if f.Terminal != (want < 0) || f.Asked == f.Terminal || f.After != max(want, 0) {
			t.Errorf("%+v: got %+v", delay, f)
		}
	}
	if err := grpcretry.RetryInfo(io.EOF, nil); err != io.EOF {
		t.Errorf("an absent delay gives %v", err)
	}
}

func FuzzPushback(f *testing.F) {
	f.Add("120")
	f.Add("99999999999999999999999999")
	f.Add("-1")
	f.Fuzz(func(t *testing.T, value string) {
		if f := retry.Classify(grpcretry.Pushback(io.EOF, value)); f.After < 0 || (f.Asked && f.Terminal) {
			t.Fatalf("%q gives %+v", value, f)
		}
	})
}

func ExamplePushback() {
	err := grpcretry.Pushback(errors.New("UNAVAILABLE"), "1500")
	fmt.Printf("%v, again in %s\n", err, retry.Classify(err).After)
	// Output: UNAVAILABLE, again in 1.5s
}
