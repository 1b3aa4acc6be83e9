package engine

import (
	"time"

	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/store"
)

// scanLimit is how many due times one query reads. A scan covers the next Config.ScanAhead and
// is repeated after a third of that.
const scanLimit = 1000

// addWake notes when a run wants a step.
func (d *dispatcher) addWake(at int64, p *location, run string) {
	d.due.Add(dispatch.DueRun{At: at, Tenure: p.tenure(), Run: run})
}

// stepDue steps runs that are due and reads due times ahead.
func (d *dispatcher) stepDue() {
	e := d.engine
	timer := time.NewTimer(e.config.ScanAhead)
	defer timer.Stop()
	nextScan := e.clock.Now()
	for {
		if now := e.clock.Now(); now >= nextScan {
			more, err := d.scan(now)
			if err != nil {
				return
			}
			nextScan = now + int64(e.config.ScanAhead/3)
			if more {
				nextScan = now + int64(100*time.Millisecond)
			}
		}
		timer.Reset(e.clock.Until(min(d.stepDueNow(), nextScan)))
		select {
		case <-timer.C:
		case <-d.due.Bell:
		case <-e.life.ctx.Done():
			return
		}
	}
}

// stepDueNow steps the runs that are due and returns the next due time. A time is void if its run
// is in memory and waits for another one.
func (d *dispatcher) stepDueNow() int64 {
	e := d.engine
	due, next := d.due.Next(e.clock.Now())
	if len(due) == 0 {
		return next
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range due {
		p := e.locations.all[w.Partition]
		if p == nil || p.epoch != w.Epoch {
			continue
		}
		if r := e.residents.all[w.Run]; r != nil && r.atRest() && r.wake != w.At {
			continue
		}
		r := p.resident(w.Run)
		r.poked = true
		r.activate()
	}
	return next
}

// scan reads the due times of the near future. More reports that it did not read all of them.
func (d *dispatcher) scan(now int64) (more bool, err error) {
	e := d.engine
	until := now + int64(e.config.ScanAhead)
	e.mu.Lock()
	after, owned := d.due.LookAhead(until), numbers(e.locations.served())
	e.mu.Unlock()
	if len(owned) == 0 {
		return false, nil
	}
	var due []store.Wake
	err = e.db.reads.Persist(e.life.ctx, "looking for due runs", func() (err error) {
		due, err = e.db.Due(e.life.ctx, owned, after, until, scanLimit)
		return err
	})
	if err != nil {
		return false, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if more = len(due) >= scanLimit; more {
		d.due.Seen(due[len(due)-1].Time)
	}
	for _, w := range due {
		p, r := e.locations.all[w.Partition], e.residents.all[w.Run]
		// A resident at work, or about to be loaded, may be evicted before it has this due time.
		if p != nil && (r == nil || !r.atRest()) {
			// The run is loaded early, so that an attempt which is due then begins in time.
			d.addWake(w.Time-int64(early), p, w.Run)
		}
	}
	return more, nil
}
