package dispatch

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/see"
)

// Unserved are the runs with queued calls that cannot start on this node, because it lacks
// their activity. It follows the runs whether they are in memory or evicted. The zero value has
// none; it is safe for concurrent use.
type Unserved struct {
	some atomic.Bool // some run may wait

	mu    sync.Mutex
	of    map[Tenure]map[string][]core.Lack // by run
	runs  map[core.Lack]int                 // how many wait
	noted map[core.Lack]bool
}

// Set says what a run waits for. It returns what no run has waited for before.
func (u *Unserved) Set(of Tenure, run string, lacks []core.Lack) (fresh []core.Lack) {
	if len(lacks) == 0 && !u.some.Load() {
		return nil // the usual case
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forget(u.of[of][run])
	if len(lacks) == 0 {
		if delete(u.of[of], run); len(u.of[of]) == 0 {
			delete(u.of, of)
			u.some.Store(len(u.of) > 0)
		}
		return nil
	}
	if u.of == nil {
		u.of, u.runs, u.noted = map[Tenure]map[string][]core.Lack{}, map[core.Lack]int{}, map[core.Lack]bool{}
	}
	if u.of[of] == nil {
		u.of[of] = map[string][]core.Lack{}
	}
	u.of[of][run] = lacks
	u.some.Store(true)
	for _, l := range lacks {
		u.runs[l]++
		if !u.noted[l] {
			u.noted[l] = true
			fresh = append(fresh, l)
		}
	}
	return fresh
}

// Drop forgets the runs of a tenure that has ended.
func (u *Unserved) Drop(of Tenure) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, lacks := range u.of[of] {
		u.forget(lacks)
	}
	delete(u.of, of)
}

func (u *Unserved) forget(lacks []core.Lack) {
	for _, l := range lacks {
		if u.runs[l]--; u.runs[l] == 0 {
			delete(u.runs, l)
		}
	}
}

// All returns what runs wait for, sorted.
func (u *Unserved) All() []core.Lack {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.SortedFunc(maps.Keys(u.runs), core.Lack.Compare)
}

// Faults returns what runs wait for as errors, sorted.
func (u *Unserved) Faults() (faults []error) {
	for _, l := range u.All() {
		fault := fmt.Errorf("activity %q is called by workflows but not registered with this engine; its calls wait in the queue: register it and start again %s", l.Activity, see.Queues)
		if l.Why != core.NotRegistered {
			fault = fmt.Errorf("calls of activity %q wait for another process: %s %s", l.Activity, l.Why, see.Queues)
		}
		faults = append(faults, fault)
	}
	return faults
}
