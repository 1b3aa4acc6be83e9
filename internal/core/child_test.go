package core_test

import (
	"testing"

	"github.com/perdure/perdure/internal/core"
)

// Children of one turn differ in nothing but the number of their call: their run IDs
// differ, and sort by the time of their turn.
func TestE44_RunIDsOfChildren(t *testing.T) {
	seen := map[string]int64{}
	before := ""
	for _, run := range []string{"019b76da-abe8-7880-9574-0aab1be95aa0", "019b76da-abe8-7880-9574-0aab1be95aa1"} {
		for call := range int64(50_000) {
			id := core.ChildRunID(run, call, beginning)
			if other, taken := seen[id]; taken || len(id) != 36 {
				t.Fatalf("call %d of run %s gets %q, as call %d does", call, run, id, other)
			}
			seen[id] = call
			before = max(before, id)
		}
	}
	if later := core.ChildRunID("another", 1, beginning+1e6); later <= before {
		t.Errorf("%s comes after %s and sorts before it", later, before)
	}
}
