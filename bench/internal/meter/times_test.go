package meter

import (
	"testing"
	"time"
)

func TestQuantileIsATimeThatWasMeasured(t *testing.T) {
	var times []time.Duration
	for n := 100; n > 0; n-- {
		times = append(times, time.Duration(n))
	}
	sorted := Sorted(times)
	for q, want := range map[float64]time.Duration{0.001: 1, 0.01: 1, 0.5: 50, 0.501: 51, 0.99: 99, 1: 100} {
		if got := sorted.Quantile(q); got != want {
			t.Errorf("quantile %v of 1 to 100 is %d, want %d", q, got, want)
		}
	}
	if got := sorted.Sum(); got != 5050 {
		t.Errorf("the sum of 1 to 100 is %d", got)
	}
	if got := Sorted([]time.Duration{7}).Quantile(0.99); got != 7 {
		t.Errorf("the p99 of one time is %d, want that time", got)
	}
	if got := Times(nil).Quantile(0.5); got != 0 {
		t.Errorf("the median of nothing is %d", got)
	}
}
