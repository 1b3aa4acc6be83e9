package core_test

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/core"
)

var uuid7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// TestRunIDsOfAChainSort: the IDs of runs that follow each other are UUIDs and
// rise, however fast they follow and wherever the clock stands.
func TestRunIDsOfAChainSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"r", "", "zzzzzzzz-zzzz-7", "00dc6acf-afe8-7627-affc-53885f860f9e"}).Draw(t, "first")
		now := rapid.Int64Range(0, 1<<62).Draw(t, "now")
		for i := range 20 {
			next := core.NextRunID(id, now)
			if !uuid7.MatchString(next) || i > 0 && next <= id || next != core.NextRunID(id, now) {
				t.Fatalf("%q follows %q", next, id)
			}
			id = next
			now += rapid.Int64Range(0, 2e6).Draw(t, "passes")
		}
	})
}
