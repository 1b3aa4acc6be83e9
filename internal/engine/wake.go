package engine

import (
	"container/heap"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
)

// wakeEntry is a time at which a run wants a step. It is void if the run is in memory and
// waits for another time.
type wakeEntry struct {
	at        int64
	partition *partition
	run       string
}

type wakeHeap []wakeEntry

func (h wakeHeap) Len() int           { return len(h) }
func (h wakeHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h wakeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *wakeHeap) Push(x any)        { *h = append(*h, x.(wakeEntry)) }
func (h *wakeHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = wakeEntry{}
	*h = old[:len(old)-1]
	return last
}

// scanLimit is how many due times one query reads. A scan covers the next Config.ScanAhead and
// is repeated after a third of that.
const scanLimit = 1000

// addWake adds a due time to the heap. The engine's mu is held.
func (e *Engine) addWake(at int64, p *partition, run string) {
	if at == core.Never {
		return
	}
	heap.Push(&e.wakes, wakeEntry{at: at, partition: p, run: run})
	if e.wakes[0].at == at {
		kick(e.wakeKick)
	}
}

func kick(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// wakeLoop steps runs that are due and reads due times ahead.
func (e *Engine) wakeLoop() {
	timer := time.NewTimer(e.config.ScanAhead)
	defer timer.Stop()
	nextScan := e.clock.Now()
	for {
		if now := e.clock.Now(); now >= nextScan {
			more, err := e.scan(now)
			if err != nil {
				return
			}
			nextScan = now + int64(e.config.ScanAhead/3)
			if more {
				nextScan = now + int64(100*time.Millisecond)
			}
		}
		timer.Reset(e.clock.Until(min(e.wakeDue(), nextScan)))
		select {
		case <-timer.C:
		case <-e.wakeKick:
		case <-e.ctx.Done():
			return
		}
	}
}

// wakeDue steps the runs that are due and returns the next due time.
func (e *Engine) wakeDue() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock.Now()
	for len(e.wakes) > 0 && e.wakes[0].at <= now {
		w := heap.Pop(&e.wakes).(wakeEntry)
		if e.partitions[w.partition.number] != w.partition {
			continue
		}
		r := e.residents[w.run]
		if r != nil && r.atRest() && r.wake != w.at {
			continue
		}
		r = e.resident(w.partition, w.run)
		r.poked = true
		e.rouse(r)
	}
	if len(e.wakes) == 0 {
		return core.Never
	}
	return e.wakes[0].at
}

// scan reads the due times of the near future. More reports that it did not read all of them.
func (e *Engine) scan(now int64) (more bool, err error) {
	until := now + int64(e.config.ScanAhead)
	after, owned := e.lookAhead(until)
	if len(owned) == 0 {
		return false, nil
	}
	var due []store.Wake
	err = e.persist("looking for due runs", func() (err error) {
		due, err = e.db.Due(e.ctx, owned, after, until, scanLimit)
		return err
	})
	if err != nil {
		return false, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(due) >= scanLimit {
		e.horizon, more = due[len(due)-1].Time, true
	}
	for _, w := range due {
		p, r := e.partitions[w.Partition], e.residents[w.Run]
		// A resident at work, or about to be loaded, may be evicted before it has this due time.
		if p != nil && (r == nil || !r.atRest()) {
			// The run is loaded early, so that an attempt which is due then begins in time.
			heap.Push(&e.wakes, wakeEntry{at: w.Time - int64(early), partition: p, run: w.Run})
		}
	}
	return more, nil
}

// lookAhead moves the horizon and returns its previous value, and the partitions whose due
// times are to be read up to the new one. It moves before the read, for two reasons: a run
// that is evicted meanwhile, with a due time that the read may be too early to see, must put
// that time into the heap itself; and a takeover meanwhile reads due times up to the new
// horizon.
func (e *Engine) lookAhead(until int64) (after int64, owned []int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	after, e.horizon = e.horizon, max(until, e.horizon)
	return after, numbers(e.served())
}
