package grpcretry_test

import (
	"errors"
	"testing"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/retry/grpcretry"
)

// TestU1_OutcomesOfCalls: what was not sent was not done; of what was sent, codes that a
// server did not give are unknown.
func TestU1_OutcomesOfCalls(t *testing.T) {
	for _, c := range []struct {
		code             uint32
		sent             bool
		unknown, notDone bool
	}{
		{14, true, true, false}, {14, false, false, true}, {4, true, true, false}, {4, false, false, true}, {13, true, true, false},
		{1, true, false, false}, {1, false, false, true}, {3, true, false, false}, {5, false, false, false}, {8, true, false, false},
	} {
		got := retry.Classify(grpcretry.Outcome(errors.New("rpc error"), c.code, c.sent))
		if got.Unknown != c.unknown || got.NotDone != c.notDone {
			t.Errorf("code %d, sent %t: %+v", c.code, c.sent, got)
		}
	}
	if grpcretry.Outcome(nil, 14, true) != nil {
		t.Error("nothing becomes an error")
	}
}
