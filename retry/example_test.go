package retry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/perdure/perdure/retry"
)

// flaky fails until its n-th call.
func flaky(n int) func(context.Context) error {
	calls := 0
	return func(context.Context) error {
		if calls++; calls < n {
			return errors.New("connection reset")
		}
		return nil
	}
}

func ExampleDo() {
	fetch := flaky(3)
	err := retry.Do(context.Background(), retry.Policy{Backoff: retry.Fixed(time.Millisecond)}, fetch)
	fmt.Println(err)
	// Output: <nil>
}

func ExampleDo_exhausted() {
	policy := retry.Policy{MaxAttempts: 3, Backoff: retry.None}
	err := retry.Do(context.Background(), policy, flaky(100), retry.WithName("fetch"))
	fmt.Println(err)
	fmt.Println("because of:", errors.Unwrap(err))
	// Output:
	// fetch: gave up after 3 attempts (max attempts): connection reset
	// because of: connection reset
}

func ExampleValue() {
	port, err := retry.Value(context.Background(), retry.Quick, func(context.Context) (int, error) {
		return 8080, nil
	})
	fmt.Println(port, err)
	// Output: 8080 <nil>
}

func ExampleTerminal() {
	err := retry.Do(context.Background(), retry.Policy{}, func(context.Context) error {
		return retry.Terminal(errors.New("card declined"))
	})
	fmt.Println(err)
	// Output: card declined
}

func ExampleAfterHTTP() {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	header := http.Header{"Retry-After": {"Sun, 01 Mar 2026 12:00:30 GMT"}}
	err := retry.AfterHTTP(errors.New("503 Service Unavailable"), header.Get("Retry-After"), now)

	fmt.Printf("%v, again in %s\n", err, retry.Classify(err).After)
	// Output: 503 Service Unavailable, again in 30s
}

func ExampleWithRecords() {
	var records []retry.Record
	policy := retry.Policy{Backoff: retry.Linear(time.Millisecond, time.Second), Jitter: retry.NoJitter}
	_ = retry.Do(context.Background(), policy, flaky(3), retry.WithTrace("order-17"), retry.WithRecords(&records))
	for _, r := range records {
		fmt.Println(r.ID, r.Err, r.Delay, r.Reason)
	}
	// Output:
	// order-17.1 connection reset 1ms backoff
	// order-17.2 connection reset 2ms backoff
	// order-17.3 <nil> 0s succeeded
}

func ExampleFromContext() {
	policy := retry.Policy{MaxAttempts: 2, Backoff: retry.None}
	_ = retry.Do(context.Background(), policy, func(ctx context.Context) error {
		info, _ := retry.FromContext(ctx)
		fmt.Printf("%s of %d, final: %v\n", info.ID, info.Max, info.Final)
		return errors.New("connection reset")
	}, retry.WithTrace("order-17"))
	// Output:
	// order-17.1 of 2, final: false
	// order-17.2 of 2, final: true
}

// Decide is the whole judgement, without a runner.
func ExampleDecide() {
	policy := retry.Policy{
		MaxAttempts:  3,
		Jitter:       retry.NoJitter,
		NonRetryable: []string{"CardDeclined"},
		Rules: []retry.Rule{
			{Types: []string{"RateLimit"}, MaxAttempts: 10, Backoff: retry.Fixed(30 * time.Second)},
		},
	}
	now := time.Now()
	for _, kind := range []string{"Network", "RateLimit", "CardDeclined"} {
		state := retry.State{Attempt: 3, First: now}
		d := retry.Decide(&policy, state, retry.Failure{Types: []string{kind}}, now, 0.5)
		fmt.Println(kind, d.Retry, d.Delay, d.Reason)
	}
	// Output:
	// Network false 0s max_attempts
	// RateLimit true 30s backoff
	// CardDeclined false 0s non_retryable
}

func ExamplePolicy_UnmarshalJSON() {
	var policy retry.Policy
	err := json.Unmarshal([]byte(`{
		"max_attempts": "unlimited",
		"backoff": {"kind": "exponential", "initial": "500ms", "coefficient": 1.5, "max": "1m30s"},
		"within": "forever"
	}`), &policy)
	fmt.Println(err, policy.Delay(1), policy.Delay(2), policy.Delay(100))
	// Output: <nil> 500ms 750ms 1m30s
}

func ExamplePolicy_Validate() {
	policy := retry.Policy{MaxAttempts: retry.Unlimited, Backoff: retry.Exponential(time.Second, 0.5, 0)}
	var invalid *retry.PolicyError
	if errors.As(policy.Validate(), &invalid) {
		for _, fault := range invalid.Faults {
			fmt.Println(fault)
		}
	}
	// Output:
	// MaxAttempts is Unlimited without Within; allowed is Unlimited with a Within, which may be Forever
	// Backoff.Coefficient is 0.5; allowed is 0 (the default, 2) or a finite number of 1 or more
}
