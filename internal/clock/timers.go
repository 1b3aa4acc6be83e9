package clock

import (
	"sync"
	"time"
)

// Timers are stopped timers that are used again. The zero value has none; it is safe for concurrent
// use.
type Timers struct{ pool sync.Pool }

// Borrow returns a running timer.
func (t *Timers) Borrow(d time.Duration) *time.Timer {
	timer, ok := t.pool.Get().(*time.Timer)
	if !ok {
		return time.NewTimer(d)
	}
	timer.Reset(d)
	return timer
}

// Return stops a timer and keeps it for the next one who borrows.
func (t *Timers) Return(timer *time.Timer) {
	timer.Stop()
	t.pool.Put(timer)
}
