package storm_test

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/lab/storm"
	"github.com/perdure/perdure/retry"
)

// A policy of your own in the laboratory: does the dependency survive its own
// recovery?
func Example() {
	report, err := storm.Run(storm.Scenario{
		Name:       "charge",
		Tasks:      10_000,
		Over:       time.Minute,
		Policy:     retry.Policy{MaxAttempts: 12, Backoff: retry.Exponential(time.Second, 2, time.Minute), Jitter: retry.FullJitter},
		Dependency: storm.Server{Capacity: 50, Work: 50 * time.Millisecond, Queue: 500},
		Faults:     []storm.Fault{storm.Outage(20*time.Second, 50*time.Second)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Succeeded, "of", report.Tasks, "succeeded")
	fmt.Println("the busiest second after the outage brought less than 1,000 calls:", report.PeakAfter < 1000)
	// Output:
	// 10000 of 10000 succeeded
	// the busiest second after the outage brought less than 1,000 calls: true
}
