package storm

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
)

// what a call came to, in the laboratory and in fact.
type outcome struct {
	calls  int
	end    time.Duration
	reason retry.Reason
}

// inFact makes the call of a scenario with one task by retry.Do in virtual time.
// It draws as the laboratory does.
func inFact(t *testing.T, s Scenario) (o outcome) {
	server := s.Dependency.(Server)
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(s.Seed, 1))
		call := func(ctx context.Context) error {
			o.calls++
			var err error
			takes := DefaultRefusal
			if random.Float64() < s.Faults[0].ErrorRate {
				err = failed(TypeUnavailable)
			} else {
				takes = around(random, server.Work)
			}
			select {
			case <-time.After(takes):
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		options := []retry.Option{retry.WithRandom(random.Float64)}
		if s.Gate != nil {
			options = append(options, gate.Through(gate.FromSpec(*s.Gate)))
		}
		began := time.Now()
		err := retry.Do(context.Background(), s.Policy, call, options...)
		o.end, o.reason = time.Since(began), retry.ReasonSucceeded
		if exhausted, ok := errors.AsType[*retry.ExhaustedError](err); ok {
			o.reason = exhausted.Reason
		} else if err != nil {
			t.Error(err)
		}
	})
	return o
}

// The laboratory gives a call the very attempts, times and end that retry.Do gives
// it, gates included.
func TestTheLaboratoryDoesWhatDoDoes(t *testing.T) {
	breaker := gate.Breaker{Failures: 3, Cooldown: 4 * time.Second}
	patient := breaker
	patient.Wait = true
	gates := []*gate.Spec{
		nil,
		{Name: "g", Limit: 1},
		{Name: "g", Limit: 1, Mode: gate.Rejoin, Rate: gate.Rate{PerSecond: 0.3}},
		{Name: "g", Limit: 1, Mode: gate.Release, Budget: gate.Budget{Tokens: 3}},
		{Name: "g", Limit: 1, Breaker: breaker},
		{Name: "g", Limit: 1, Breaker: patient},
	}
	policies := []retry.Policy{
		{},
		{MaxAttempts: 10, Backoff: retry.None},
		{MaxAttempts: 10, Backoff: retry.Fixed(time.Second), Within: 5 * time.Second},
		{MaxAttempts: 10, Jitter: retry.FullJitter, AttemptTimeout: 9 * time.Millisecond},
		{MaxAttempts: 10, Jitter: retry.Decorrelated, QueueTimeout: time.Second},
		{MaxAttempts: 10, Jitter: retry.EqualJitter, OnTimeout: retry.StopOnTimeout, HeartbeatTimeout: 9 * time.Millisecond},
	}
	reasons := map[retry.Reason]int{}
	for seed := range uint64(20) {
		for _, g := range gates {
			for _, p := range policies {
				s := Scenario{Tasks: 1, Policy: p, Gate: g, Seed: seed, Dependency: Server{Capacity: 1, Work: 10 * time.Millisecond, Queue: Endless}}
				s.Faults = []Fault{Errors(0, Always, 0.8)}
				r, err := Run(s)
				if err != nil {
					t.Fatal(err)
				}
				got := outcome{r.Calls, r.End, retry.ReasonSucceeded}
				for reason := range r.Reasons {
					got.reason = reason
				}
				reasons[got.reason]++
				if want := inFact(t, s); got != want {
					t.Errorf("seed %d, gate %+v, policy %s: %+v, and Do %+v", seed, g, p, got, want)
				}
			}
		}
	}
	for _, reason := range []retry.Reason{retry.ReasonSucceeded, retry.ReasonMaxAttempts, retry.ReasonWithin, retry.ReasonTimeout, retry.ReasonBudget, retry.ReasonBreaker} {
		if reasons[reason] == 0 {
			t.Errorf("no call ended with %s: %v", reason, reasons)
		}
	}
}
