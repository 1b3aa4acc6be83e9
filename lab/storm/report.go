package storm

import (
	"slices"
	"time"

	"github.com/perdure/perdure/retry"
)

// Report is what came of a scenario. It is plain data. All times are simulated
// and counted from the beginning of the scenario.
type Report struct {
	// Name is the scenario's.
	Name string

	// Tasks is how many there were: Succeeded, Failed (the policy gave up),
	// Paused (it left them to a person) and Unsettled (not done at the end).
	Tasks, Succeeded, Failed, Paused, Unsettled int

	// Reasons says of how many tasks that failed or were paused which reason
	// was the last.
	Reasons map[retry.Reason]int

	// Calls is how often the dependency was called, and Wasted how many of
	// these calls did not end a task with a success: they failed, were refused,
	// or were answered when nobody waited any more.
	Calls, Wasted int

	// Load is how many calls came in each second, and Peak the most in one.
	// PeakAfter is the most in a second that began when the last fault was over
	// or later. A fault that does not end before the scenario does is not
	// waited for; without one that ends it is equal to Peak.
	Load            []int
	Peak, PeakAfter int

	// PeakInFlight is the most calls that a Server worked on or had in its queue
	// at a time.
	PeakInFlight int

	// Recovery is when the last fault was over, End when the last task was
	// done (or Until, if some were not), and Drain the time between, zero if the
	// end came first.
	Recovery, End, Drain time.Duration

	// Latency is how long the tasks took that succeeded, from when they came
	// to the answer.
	Latency Percentiles
}

// Percentiles say how long most took: half of them P50 or less, 90 % P90 or
// less, 99 % P99 or less, all of them Max or less. All are zero of nothing.
type Percentiles struct {
	P50, P90, P99, Max time.Duration
}

// CallsPerTask is the load that retries make of one task, its first call
// included.
func (r *Report) CallsPerTask() float64 { return float64(r.Calls) / float64(r.Tasks) }

func newReport(s *Scenario) *Report {
	return &Report{Name: s.Name, Tasks: s.Tasks, Reasons: map[retry.Reason]int{}, Recovery: s.recovery()}
}

// called counts a call. The seconds of Load are counted from the recovery, so
// that none of them is half before it and half after.
func (r *Report) called(at time.Duration) {
	r.Calls++
	second := r.second(at)
	if missing := second + 1 - len(r.Load); missing > 0 {
		r.Load = append(r.Load, make([]int, missing)...)
	}
	r.Load[second]++
}

// second is the index in Load of a moment.
func (r *Report) second(at time.Duration) int {
	first := r.Recovery % time.Second
	if at < first {
		return 0
	}
	index := int((at - first) / time.Second)
	if first > 0 {
		index++
	}
	return index
}

// finish completes the report when the experiment is over.
func (r *Report) finish(w *world) {
	r.Unsettled = r.Tasks - w.settled
	r.Wasted = r.Calls - r.Succeeded
	if r.Unsettled > 0 {
		r.End = w.until()
	}
	if len(r.Load) > 0 {
		r.Peak = slices.Max(r.Load)
	}
	if after := r.second(r.Recovery); after < len(r.Load) {
		r.PeakAfter = slices.Max(r.Load[after:])
	}
	r.Drain = max(r.End-r.Recovery, 0)
	slices.Sort(w.waits)
	r.Latency = percentiles(w.waits)
}

// percentiles picks them from sorted times, by the nearest rank.
func percentiles(sorted []time.Duration) Percentiles {
	if len(sorted) == 0 {
		return Percentiles{}
	}
	at := func(percent int) time.Duration { return sorted[(len(sorted)*percent+99)/100-1] }
	return Percentiles{P50: at(50), P90: at(90), P99: at(99), Max: at(100)}
}
