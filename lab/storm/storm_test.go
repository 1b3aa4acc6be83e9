package storm_test

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/lab/storm"
	"github.com/perdure/perdure/retry"
)

const ms = time.Millisecond

// server has room for all that these tests send.
var server = storm.Server{Capacity: 1000, Work: 10 * ms, Queue: storm.Endless}

// exact is a policy of three attempts without jitter.
var exact = retry.Policy{MaxAttempts: 3, Backoff: retry.Exponential(time.Second, 2, time.Minute), Jitter: retry.NoJitter}

func run(t *testing.T, s storm.Scenario) *storm.Report {
	t.Helper()
	r, err := storm.Run(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAllIsWellWithoutFaults(t *testing.T) {
	r := run(t, storm.Scenario{Tasks: 1000, Over: time.Minute, Policy: exact, Dependency: server})
	if r.Calls != 1000 || r.Succeeded != 1000 || r.Wasted != 0 || r.Failed != 0 || r.Unsettled != 0 {
		t.Errorf("%+v", r)
	}
	if r.Latency.P50 < 9*ms || r.Latency.P50 > 11*ms || r.Latency.Max > 20*ms {
		t.Errorf("work of about 10 ms takes %+v", r.Latency)
	}
}

// The waits are those of the policy: an outage of 2.5 s is over before the third
// attempt, which comes 3 s after the first one, less the time of the answers.
func TestAttemptsComeWhenThePolicySays(t *testing.T) {
	s := storm.Scenario{Tasks: 10, Policy: exact, Dependency: server, Faults: []storm.Fault{storm.Outage(0, 2500*ms)}}
	r := run(t, s)
	// Seconds are counted from the recovery: 0 to 0.5, 0.5 to 1.5, ...
	if want := []int{10, 10, 0, 10}; !reflect.DeepEqual(r.Load, want) {
		t.Errorf("load %v, want %v", r.Load, want)
	}
	if r.PeakAfter != 10 || r.Recovery != 2500*ms || r.Drain < 500*ms || r.Drain > 530*ms || r.Succeeded != 10 {
		t.Errorf("%+v", r)
	}

	s.Faults[0].To = storm.Always
	r = run(t, s)
	if r.Failed != 10 || r.Reasons[retry.ReasonMaxAttempts] != 10 || r.Calls != 30 || r.Wasted != 30 {
		t.Errorf("%+v", r)
	}
}

func TestErrorsAskForTheirOwnDelay(t *testing.T) {
	outage := storm.Outage(0, time.Minute)
	outage.RetryAfter = time.Minute
	r := run(t, storm.Scenario{Tasks: 100, Policy: exact, Dependency: server, Faults: []storm.Fault{outage}})
	if r.Calls != 200 || r.Succeeded != 100 || r.PeakAfter != 100 {
		t.Errorf("%+v", r)
	}
}

func TestRulesOfThePolicyHold(t *testing.T) {
	policy := exact
	policy.Rules = []retry.Rule{{Types: []string{"Banned"}, Stop: true}}
	outage := storm.Outage(0, storm.Always)
	outage.Type = "Banned"
	r := run(t, storm.Scenario{Tasks: 10, Policy: policy, Dependency: server, Faults: []storm.Fault{outage}})
	if r.Calls != 10 || r.Reasons[retry.ReasonStopRule] != 10 {
		t.Errorf("%+v", r)
	}
	policy = exact
	policy.Within = 1500 * ms
	policy.OnExhausted = retry.Pause
	r = run(t, storm.Scenario{Tasks: 10, Policy: policy, Dependency: server, Faults: []storm.Fault{storm.Outage(0, storm.Always)}})
	if r.Calls != 20 || r.Paused != 10 || r.Failed != 0 || r.Reasons[retry.ReasonWithin] != 10 {
		t.Errorf("%+v", r)
	}
}

// A server that is slow does the work of callers who have given up: with one
// slot and work of 10 s, three attempts of 3 s each are never answered in time.
func TestGivingUpDoesNotFreeTheServer(t *testing.T) {
	policy := exact
	policy.AttemptTimeout = 3 * time.Second
	s := storm.Scenario{Tasks: 1, Policy: policy, Dependency: storm.Server{Capacity: 1, Work: ms, Queue: 2},
		Faults: []storm.Fault{storm.Slow(0, time.Minute, 10_000)}}
	r := run(t, s)
	if r.Calls != 3 || r.Failed != 1 || r.PeakInFlight != 2 {
		t.Errorf("%+v", r)
	}
	for _, timeout := range []string{retry.TypeTimeout, retry.TypeHeartbeatTimeout} {
		s.Policy.Rules = []retry.Rule{{Types: []string{timeout}, Stop: true}}
		if r := run(t, s); r.Reasons[retry.ReasonStopRule] != 1 || r.Calls != 1 {
			t.Errorf("a rule for %s: %+v", timeout, r)
		}
		s.Policy.HeartbeatTimeout = 2 * time.Second
	}
}

// With a queue of 2 behind one slot, 3 of 10 calls that come at once find room.
func TestAFullServerRefuses(t *testing.T) {
	r := run(t, storm.Scenario{Tasks: 10, Policy: retry.Never, Dependency: storm.Server{Capacity: 1, Work: 10 * ms, Queue: 2}})
	if r.Succeeded != 3 || r.Failed != 7 || r.PeakInFlight != 3 {
		t.Errorf("%+v", r)
	}
	if r.Latency.Max < 20*ms || r.Latency.Max > 40*ms {
		t.Errorf("three calls one after the other take %v", r.Latency.Max)
	}
}

func TestAnErrorRateIsAShareOfTheCalls(t *testing.T) {
	r := run(t, storm.Scenario{Tasks: 10_000, Policy: retry.Never, Dependency: server,
		Faults: []storm.Fault{storm.Errors(0, time.Hour, 0.1), storm.Errors(0, time.Hour, 0.3)}})
	if share := float64(r.Failed) / 10_000; math.Abs(share-0.3) > 0.02 {
		t.Errorf("%.3f of the calls failed, want 0.3", share)
	}
}

// A gate with one slot and work of 10 s: the second task waits, gives up after
// QueueTimeout without a call, and that is an attempt; Within ends the wait for a
// retry.
func TestWaitingAtAGateHasAnEnd(t *testing.T) {
	policy := retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter, QueueTimeout: 2 * time.Second}
	s := storm.Scenario{Tasks: 2, Policy: policy, Gate: &gate.Spec{Name: "one", Limit: 1},
		Dependency: storm.Server{Capacity: 2, Work: 10 * time.Second}}
	r := run(t, s)
	if r.Calls != 1 || r.Succeeded != 1 || r.Reasons[retry.ReasonMaxAttempts] != 1 {
		t.Errorf("%+v", r)
	}
	s.Policy.Within, s.Policy.MaxAttempts = 4*time.Second, 10
	r = run(t, s)
	if r.Calls != 1 || r.Succeeded != 1 || r.Reasons[retry.ReasonWithin] != 1 {
		t.Errorf("%+v", r)
	}
	s.Policy = retry.Policy{}
	if r = run(t, s); r.Calls != 2 || r.Succeeded != 2 || r.Latency.Max < 15*time.Second {
		t.Errorf("%+v", r)
	}
}

func TestAGateIsValidated(t *testing.T) {
	_, err := storm.Run(storm.Scenario{Tasks: 1, Dependency: server, Gate: &gate.Spec{Mode: "x"}})
	if err == nil || !strings.Contains(err.Error(), "its name is empty") || !strings.Contains(err.Error(), "Limit is 0") || !strings.Contains(err.Error(), "Mode is") {
		t.Error(err)
	}
}

func TestTheSameSeedGivesTheSameReport(t *testing.T) {
	s := storm.Scenario{Tasks: 1000, Over: time.Second, Policy: retry.Policy{Jitter: retry.FullJitter}, Dependency: storm.Server{Capacity: 3, Work: 10 * ms, Queue: 10}, Seed: 7}
	first, second := run(t, s), run(t, s)
	if !reflect.DeepEqual(first, second) {
		t.Errorf("%+v\n%+v", first, second)
	}
	s.Seed++
	if third := run(t, s); reflect.DeepEqual(first.Load, third.Load) {
		t.Error("another seed changes nothing")
	}
}

func TestWhatCannotBeIsRefused(t *testing.T) {
	_, err := storm.Run(storm.Scenario{
		Policy: retry.Policy{MaxAttempts: -1}, Over: -1, Until: -1, Dependency: storm.Server{Queue: -1, Refusal: -1, RetryAfter: -1},
		Faults: []storm.Fault{{From: 2, To: 1}, {To: 1, Slow: 0.5, ErrorRate: math.NaN(), RetryAfter: -1}, {To: 1, Slow: 2, Type: "X"}},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"Tasks is 0", "Over is -1", "Until is -1", "MaxAttempts is -1", "Capacity is 0", "Work is 0", "Queue is -1", "Refusal is -1",
		"RetryAfter is -1", "Faults[0]: it lasts from 2ns to 1ns", "nothing is wrong", "Slow is 0.5", "ErrorRate is NaN", "ErrorRate is 0",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	for name, s := range map[string]storm.Scenario{
		"Dependency is nil":     {Tasks: 1},
		"Trip is 0":             {Tasks: 1, Dependency: storm.Contended{}},
		"no faults":             {Tasks: 1, Dependency: storm.Contended{Trip: 1}, Faults: []storm.Fault{storm.Outage(0, 1)}},
		"allowed is 0 to Until": {Tasks: 1, Over: 25 * time.Hour, Dependency: server},
	} {
		if _, err := storm.Run(s); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q is not in %v", name, err)
		}
	}
}

// endless never gives up.
func endless(b retry.Backoff) retry.Policy {
	return retry.Policy{MaxAttempts: retry.Unlimited, Within: retry.Forever, Backoff: b, Jitter: retry.NoJitter}
}

// What would happen after the end does not happen, and is told apart.
func TestAScenarioEnds(t *testing.T) {
	r := run(t, storm.Scenario{Tasks: 5, Policy: endless(retry.Fixed(retry.Forever)), Dependency: server, Faults: []storm.Fault{storm.Outage(0, 1)}})
	if r.Unsettled != 5 || r.Calls != 5 || r.End != storm.DefaultUntil {
		t.Errorf("%+v", r)
	}
	if table := storm.Table(r); !strings.Contains(table, "5 unsettled") || !strings.Contains(table, "> 24h0m0s") {
		t.Error(table)
	}
}
