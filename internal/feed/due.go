package feed

import (
	"time"

	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/store"
)

// Due reads due times ahead and tells when they have come.
type Due struct {
	Source
	Times *dispatch.Due
	Ahead time.Duration // how far one scan looks; it is repeated after a third of that

	Locations func() []int             // that this node serves
	Found     func(wakes []store.Wake) // is told of times that were read
	Step      func(due []dispatch.DueRun)
}

// scanLimit is how many due times one query reads.
const scanLimit = 1000

// Run reads until the context ends.
func (d *Due) Run() {
	timer := time.NewTimer(d.Ahead)
	defer timer.Stop()
	nextScan := d.Clock.Now()
	for {
		if now := d.Clock.Now(); now >= nextScan {
			more, err := d.scan(now)
			if err != nil {
				return
			}
			nextScan = now + int64(d.Ahead/3)
			if more {
				nextScan = now + int64(100*time.Millisecond)
			}
		}
		due, next := d.Times.Next(d.Clock.Now())
		if len(due) > 0 {
			d.Step(due)
		}
		timer.Reset(d.Clock.Until(min(next, nextScan)))
		select {
		case <-timer.C:
		case <-d.Times.Bell:
		case <-d.Context.Done():
			return
		}
	}
}

// scan reads the due times of the near future. More reports that it did not read all of them.
func (d *Due) scan(now int64) (more bool, err error) {
	until := now + int64(d.Ahead)
	after := d.Times.LookAhead(until)
	owned := d.Locations() // after that: who takes a location adds it before it asks how far times are known
	if len(owned) == 0 {
		return false, nil
	}
	var due []store.Wake
	err = d.Watch.Persist(d.Context, "looking for due runs", func() (err error) {
		due, err = d.Store.Due(d.Context, owned, after, until, scanLimit)
		return err
	})
	if err != nil {
		return false, err
	}
	if more = len(due) >= scanLimit; more {
		d.Times.Seen(due[len(due)-1].Time)
	}
	d.Found(due)
	return more, nil
}
