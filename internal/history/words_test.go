package history

import (
	"reflect"
	"testing"

	"github.com/perdure/perdure/retry"
)

// TestPoliciesAreDecodedOnce: events with the same policy share it, and those of more policies
// than are kept have each their own.
func TestPoliciesAreDecodedOnce(t *testing.T) {
	var words Words
	read := func(attempts int) *retry.Policy {
		t.Helper()
		turn, err := SealTurn("r", 1, 1, []Event{{Kind: ActivityScheduled, Call: 1, Policy: &retry.Policy{MaxAttempts: attempts}}})
		if err != nil {
			t.Fatal(err)
		}
		events, err := words.OpenTurn("r", 1, 1, turn)
		if err != nil {
			t.Fatal(err)
		}
		want, err := new(Words).OpenTurn("r", 1, 1, turn)
		if err != nil || !reflect.DeepEqual(events, want) || events[0].Policy.MaxAttempts != attempts {
			t.Fatalf("%s gives %+v, and with other words %+v, %v", turn, events, want, err)
		}
		return events[0].Policy
	}
	if first := read(7); read(7) != first {
		t.Error("the same policy was decoded twice")
	}
	for range 2 {
		for attempts := 1; attempts < 300; attempts++ {
			read(attempts)
		}
	}
}
