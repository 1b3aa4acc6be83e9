package retry_test

import (
	"fmt"

	"github.com/perdure/perdure/retry"
)

func ExampleParse() {
	p, err := retry.Parse("[retry: 3, backoff: 60] [CardDeclined -> stop] [timeout: 90]")
	fmt.Println(p.MaxAttempts, p.Delay(2), p.AttemptTimeout, err)
	fmt.Println(p)

	_, err = retry.Parse("[retry: 3, back-off: 60]")
	fmt.Println(err)
	// Output:
	// 4 2m0s 1m30s <nil>
	// [retry: 3, backoff: 1m] [CardDeclined -> stop] [timeout: 1m30s]
	// 1:12: "back-off" is not a key; expected one of backoff, fixed, linear, heartbeat, queue, within, on-timeout, only, never, pause, max-retry-after, unknown, crashes
}

func ExamplePolicy_String() {
	fmt.Println(retry.Standard)
	// Output: [retry: 4, backoff: 1s, max: 1m] [within: 5m, on-timeout: retry]
}

func ExampleExplain() {
	p, _ := retry.Parse("[retry: 3, backoff: 10s] [timeout: 30s, within: 1m]")
	e, err := retry.Explain(p, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range e.Schedules[0].Attempts {
		fmt.Println(a.Number, a.Delay, a.Earliest)
	}
	for _, w := range e.Warnings {
		fmt.Println(w.Kind)
	}
	// Output:
	// 1 0s 0s
	// 2 10s 9s
	// 3 20s 27s
	// within_cuts_off
	// slow_attempts
}
