package workload

import "time"

// Scale is how much is done.
type Scale int

// The scales.
const (
	Full  Scale = iota
	Short       // shows in a few minutes that everything works
	Tiny        // for tests
)

// Throughputs returns W1 at a scale. Runs sets the number of workflows, 0 leaves
// it to the time they take.
func Throughputs(scale Scale, runs int) Throughput {
	w := Throughput{Steps: 5, InFlight: 200, Runs: runs, For: 3 * time.Second}
	switch scale {
	case Short:
		w.For = 300 * time.Millisecond
	case Tiny:
		w.InFlight, w.Runs = 5, 20
	}
	return w
}

// Started is Throughputs with clients that do not wait.
func Started(scale Scale, runs int) Throughput {
	w := Throughputs(scale, runs)
	w.Clients = 32
	return w
}

// All returns the workloads at a scale.
func All(scale Scale, runs int) []Workload {
	w1 := Throughputs(scale, runs)
	switch scale {
	case Tiny:
		return []Workload{
			w1,
			Latency{Steps: []int{1, 3}, Runs: 10},
			Backoff{Runs: []int{5, 8}},
			FanOut{Width: 30, InFlight: 7, Runs: 2},
			Asleep{Asleep: []int{10, 30}, Finished: 20, InFlight: 5, Probes: 3, Load: 5, Steps: 2},
			Long{Steps: []int{30, 60}, Edge: 10},
			Crash{Runs: 5, Steps: 6, Bodies: []time.Duration{0, 5 * time.Millisecond}},
			Queues{w1, Latency{Steps: []int{1}, Runs: 10}},
			Crowd{Runs: 300, Steps: 2, Width: 20},
			Started(scale, runs),
		}
	case Short:
		return []Workload{
			w1,
			Latency{Steps: []int{1, 10}, Runs: 50},
			Backoff{Runs: []int{200}},
			FanOut{Width: 1000, InFlight: 200, Runs: 1},
			Asleep{Asleep: []int{1000, 2000}, Finished: 1000, InFlight: 200, Probes: 20, Load: 400, Steps: 5},
			Long{Steps: []int{1000}, Edge: 200},
			Crash{Runs: 200, Steps: 20, Bodies: []time.Duration{0, 20 * time.Millisecond, 250 * time.Millisecond}},
			Queues{w1, Latency{Steps: []int{1}, Runs: 50}},
			Crowd{Runs: 2000, Steps: 5, Width: 200},
			Started(scale, runs),
		}
	}
	return []Workload{
		w1,
		Latency{Steps: []int{1, 10}, Runs: 300},
		Backoff{Runs: []int{200, 2000}},
		FanOut{Width: 1000, InFlight: 200, Runs: 5},
		Asleep{Asleep: []int{20_000, 200_000}, Finished: 200_000, InFlight: 200, Probes: 100, Load: 5000, Steps: 5},
		Long{Steps: []int{2000, 20_000}, Edge: 200},
		Crash{Runs: 200, Steps: 50, Bodies: []time.Duration{0, 20 * time.Millisecond, 250 * time.Millisecond}},
		Queues{w1, Latency{Steps: []int{1}, Runs: 100}},
		Crowd{Runs: 20_000, Steps: 5, Width: 200},
		Started(scale, runs),
	}
}

// Looked returns the workload of pages at a scale. Runs sets their number, 0 leaves it to the
// scale.
func Looked(scale Scale, runs int) Pages {
	w := Pages{Runs: 1_000_000, InFlight: 200, Times: 5}
	switch scale {
	case Short:
		w.Runs = 2000
	case Tiny:
		w.Runs, w.Times = 100, 1
	}
	if runs > 0 {
		w.Runs = runs
	}
	return w
}

// Grown returns the growth workload at a scale. Runs sets the number of runs of each kind,
// 0 leaves it to the scale.
func Grown(scale Scale, runs int) Growth {
	w := Growth{Runs: 1_000_000, InFlight: 200, Probes: 100}
	switch scale {
	case Short:
		w.Runs, w.Probes = 2000, 20
	case Tiny:
		w.Runs, w.Probes = 20, 3
	}
	if runs > 0 {
		w.Runs = runs
	}
	return w
}
