package core

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// TestE41_AnotherAnswerToAnUpdateIsADifference: an update that answers else when the code runs
// again, with another value or as a failure, shows that the code does not fit its history. What a
// handler did that panicked is no answer.
func TestE41_AnotherAnswerToAnUpdateIsADifference(t *testing.T) {
	answer := func(result string, failure string) *history.Event {
		ev := &history.Event{Kind: history.UpdateCompleted, ID: "u", Result: history.Payload{Encoding: history.EncodingJSON, Data: []byte(result)}}
		if failure != "" {
			ev.Failure = &history.Failure{Message: failure}
		}
		return ev
	}
	panicked := answer("null", "it panicked")
	panicked.Note = handlerPanicked
	for _, c := range []struct {
		what            string
		recorded, asked *history.Event
		want            bool
	}{
		{"the same value", answer("1", ""), answer("1", ""), true},
		{"another value", answer("1", ""), answer("2", ""), false},
		{"the same failure", answer("null", "no"), answer("null", "no"), true},
		{"another failure", answer("null", "no"), answer("null", "not at all"), false},
		{"a failure in place of a value", answer("1", ""), answer("1", "no"), false},
		{"any answer after a panic", panicked, answer("2", ""), true},
	} {
		if same(c.recorded, c.asked) != c.want {
			t.Errorf("%s: %t", c.what, !c.want)
		}
	}
}

// TestE45_TheTimeOfAChainCountsFirst: if a run and its chain have until the same moment, it is the
// chain that ends, or a run would follow that has no time.
func TestE45_TheTimeOfAChainCountsFirst(t *testing.T) {
	start := history.Start{Created: 100, Settings: history.Settings{RunTimeout: 50, ChainTimeout: 70}}
	for _, c := range []struct {
		chain, at int64
		kind      retry.TimeoutKind
		limit     time.Duration
	}{
		{0, 150, retry.TimeoutRun, 50},
		{149, 149, retry.TimeoutChain, 70},
		{150, 150, retry.TimeoutChain, 70},
		{151, 150, retry.TimeoutRun, 50},
	} {
		start.ChainDeadline = c.chain
		if at, kind, limit := deadline(&start); at != c.at || kind != c.kind || limit != c.limit {
			t.Errorf("of a chain that has until %d a run ends at %d as %v after %d", c.chain, at, kind, limit)
		}
	}
}
