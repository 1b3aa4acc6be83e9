package dispatch

import (
	"math"
	"sync"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/heap"
)

// Due knows when runs want a step next, up to a horizon: what comes due later is in the
// database alone and is read in time. It is safe for concurrent use.
type Due struct {
	// Bell rings when something comes due earlier than anything before.
	Bell clock.Bell

	mu      sync.Mutex
	times   heap.Heap[DueRun]
	horizon int64
}

// DueRun is a time at which a run wants a step, and where it is served.
type DueRun struct {
	At int64
	Tenure
	Run    string
	ByMail bool // it wants one only if mail waits for it in memory
}

// Before implements heap.Element.
func (r DueRun) Before(other DueRun) bool { return r.At < other.At }

// Stands implements heap.Element.
func (DueRun) Stands(int) {}

// NewDue returns a Due without times.
func NewDue(horizon int64) *Due { return &Due{Bell: clock.NewBell(), horizon: horizon} }

// Add adds a time. One that never comes is left out.
func (d *Due) Add(r DueRun) {
	if r.At == math.MaxInt64 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.times.Push(r)
	if d.times[0].At == r.At {
		d.Bell.Ring()
	}
}

// Next removes and returns the times up to now, and returns the first later one; math.MaxInt64
// for none.
func (d *Due) Next(now int64) (due []DueRun, next int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.times) > 0 && d.times[0].At <= now {
		due = append(due, d.times.Pop())
	}
	if len(d.times) == 0 {
		return due, math.MaxInt64
	}
	return due, d.times[0].At
}

// Horizon returns the time up to which all times are known.
func (d *Due) Horizon() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.horizon
}

// LookAhead moves the horizon and returns the previous one. It is moved before the times up to
// it are read, for two reasons: a run that is evicted meanwhile, with a time that the read may
// be too early to see, is added by who evicts it; and a takeover meanwhile reads up to the new
// horizon.
func (d *Due) LookAhead(until int64) (after int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	after, d.horizon = d.horizon, max(until, d.horizon)
	return after
}

// Seen says that not all times up to the horizon were read: only those up to last.
func (d *Due) Seen(last int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.horizon = last
}
