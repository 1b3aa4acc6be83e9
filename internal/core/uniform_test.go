package core

import (
	"math"
	"testing"
)

// The draw belongs to the format: a changed one would redraw the delays of
// workflow.Retry on replay, harmlessly for those on record.
func TestR5_DrawIsFixedAndEven(t *testing.T) {
	if a, b := Uniform("run-1", 1, 1), Uniform("run-1", 1, 1); a != b {
		t.Errorf("two draws of the same: %v, %v", a, b)
	}
	const n = 20000
	var sum float64
	var bins [10]int
	seen := map[float64]bool{}
	for call := range int64(n / 100) {
		for attempt := range 100 {
			u := Uniform("run-1", call, attempt)
			if u < 0 || u >= 1 {
				t.Fatalf("draw %v", u)
			}
			sum += u
			bins[int(u*10)]++
			seen[u] = true
		}
	}
	if mean := sum / n; math.Abs(mean-0.5) > 0.01 {
		t.Errorf("mean %v", mean)
	}
	for i, count := range bins {
		if math.Abs(float64(count)-n/10) > n/100 {
			t.Errorf("%d draws of %d in [0.%d, 0.%d)", count, n, i, i+1)
		}
	}
	if len(seen) < n-1 {
		t.Errorf("only %d of %d draws differ", len(seen), n)
	}
	if Uniform("run-1", 1, 2) == Uniform("run-2", 1, 2) || Uniform("run-1", 1, 2) == Uniform("run-1", 2, 1) {
		t.Error("draws do not depend on all arguments")
	}
}
