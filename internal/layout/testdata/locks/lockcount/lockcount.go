// Package lockcount stands in for sync where locks are counted.
package lockcount

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Mutex is a sync.Mutex that counts how often it is locked, and by whom.
type Mutex struct{ sync.Mutex }

var (
	on    atomic.Bool
	mu    sync.Mutex
	taken map[string]int
)

// Lock locks the mutex.
func (m *Mutex) Lock() {
	if on.Load() {
		pc := make([]uintptr, 1)
		runtime.Callers(2, pc)
		frame, _ := runtime.CallersFrames(pc).Next()
		mu.Lock()
		taken[frame.Function]++
		mu.Unlock()
	}
	m.Mutex.Lock()
}

// Begin begins to count.
func Begin() {
	mu.Lock()
	taken = map[string]int{}
	mu.Unlock()
	on.Store(true)
}

// End ends it, and returns how often each function took a lock.
func End() map[string]int {
	on.Store(false)
	mu.Lock()
	defer mu.Unlock()
	return taken
}
