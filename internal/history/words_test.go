package history

import (
	"fmt"
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
		turn := fmt.Sprintf(`{"v":1,"events":[{"kind":"ActivityScheduled","call":1,"policy":{"max_attempts":%d}}]}`, attempts)
		events, err := words.decodeTurn([]byte(turn))
		if err != nil {
			t.Fatal(err)
		}
		want, err := DecodeTurn([]byte(turn))
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
