package workload

import "time"

// All returns the workloads at their full size or, short, at one that shows in a
// minute or two that they work. Runs sets the number of workflows of W1, 0 leaves
// it to the time they take.
func All(short bool, runs int) []Workload {
	w1 := Throughput{Steps: 5, InFlight: 200, Runs: runs, For: 3 * time.Second}
	if short {
		w1.For = 300 * time.Millisecond
	}
	return []Workload{w1}
}
