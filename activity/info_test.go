package activity_test

import (
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
)

func TestProgressCountsNoAttemptAsOneOfFewer(t *testing.T) {
	for want, info := range map[string]activity.Info{
		"attempt 1":             {Attempt: 1},
		"attempt 2 of 5":        {Attempt: 2, Allowed: 5},
		"attempt 5 of 5":        {Attempt: 5, Allowed: 5},
		"attempt 6 (5 allowed)": {Attempt: 6, Allowed: 5},
		"attempt 6, unlimited":  {Attempt: 6, Allowed: retry.Unlimited},
	} {
		if got := info.Progress(); got != want {
			t.Errorf("%d of %d: got %q, want %q", info.Attempt, info.Allowed, got, want)
		}
	}
}
