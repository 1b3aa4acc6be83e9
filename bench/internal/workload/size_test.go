package workload

import "testing"

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1000: "1,000 B", 1536: "1.50 KiB", 5 << 20: "5.00 MiB", 3 << 41: "6,140 GiB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}
