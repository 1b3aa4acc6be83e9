package firstlast

import (
	"slices"
	"testing"
)

// TestR35_RecordsAreBounded: the first ten and the last ten.
func TestR35_RecordsAreBounded(t *testing.T) {
	var got []int
	for n := 1; n <= 1000; n++ {
		got = Append(got, n)
		var want []int
		for i := 1; i <= n; i++ {
			if i <= 10 || i > n-10 {
				want = append(want, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("after %d: %v", n, got)
		}
	}
}
