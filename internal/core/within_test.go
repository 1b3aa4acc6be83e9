package core

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestE22_TimesFallIntoClasses that follow each other without a gap, and are two for each doubling.
func TestE22_TimesFallIntoClasses(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		-1: time.Millisecond, 0: time.Millisecond, time.Millisecond - 1: time.Millisecond,
		time.Millisecond: 3 * time.Millisecond / 2, 3 * time.Millisecond / 2: 2 * time.Millisecond, 2 * time.Millisecond: 3 * time.Millisecond,
		time.Second: 1024 * time.Millisecond, time.Hour: 4194304 * time.Millisecond,
	} {
		if got := Within(d); got != want {
			t.Errorf("%s is within %s, want %s", d, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64().Draw(t, "time"))
		end := Within(d)
		if begin := WithinFrom(end); d >= end && d < 1<<62 || d < begin && d >= 0 || Within(begin) != end {
			t.Fatalf("%d is within %d, which begins at %d", d, end, begin)
		}
	})
}
