package engine

import (
	"context"
	"slices"

	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/store"
)

// takeover is the work that the previous owners of locations left.
type takeover struct {
	locations []*location
	horizon   int64
	wakes     []store.Wake // runs with work in flight, and runs due up to the horizon
}

// backOut undoes a start that failed.
func (l *locations) backOut(ctx context.Context) error {
	e := l.engine
	e.mu.Lock()
	l.Drop(l.Served())
	e.dispatcher.recovery.Abort()
	e.mu.Unlock()
	return e.member.BackOut(ctx)
}

// takeOver adds locations to those that this node serves, and returns what has to be
// recovered of their runs.
func (l *locations) takeOver(node string, owned []store.Ownership) *takeover {
	e := l.engine
	t := &takeover{}
	if len(owned) == 0 {
		return t
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, o := range owned {
		p := &location{engine: e, box: e.inbox.office.Open(o.Partition)}
		p.Own(o, node)
		p.locate()
		t.locations = append(t.locations, p)
	}
	l.Add(t.locations)
	l.noteMoved(t.locations)
	e.dispatcher.recovery.Begin()
	t.horizon = e.dispatcher.due.Horizon() // from here on scans read these locations, too, beyond the horizon
	return t
}

// readWakes reads which runs of taken locations want a step.
func (l *locations) readWakes(ctx context.Context, t *takeover) (err error) {
	if len(t.locations) > 0 {
		t.wakes, err = l.engine.db.Due(ctx, placement.Numbers(t.locations), store.Arrived-1, t.horizon, 0)
	}
	return err
}

// reviewHeld loads runs that are parked or wait for code if their code may fit now.
func (l *locations) reviewHeld(ps []*location) {
	e := l.engine
	e.db.ahead.Held(placement.Partitions(ps), func(r *store.Run) {
		if e.holds.WorthTrying(r) {
			l.tryAgain(store.Place(r.Partition, r.Ward), r.ID)
		}
	})
}

// recovery resumes runs that had work in flight; see dispatch.Recovery for what waits for that. It
// is guarded by the engine's mu.
type recovery struct {
	engine *Engine
	hot    []dispatch.DueRun // runs that had work in flight and are not loaded yet
}

// begin resumes what the previous owners left: runs with work in flight, runs that are due,
// messages, and runs that were held because no code fitted.
func (rec *recovery) begin(t *takeover) {
	e := rec.engine
	if len(t.locations) == 0 {
		return
	}
	e.mu.Lock()
	for _, w := range t.wakes {
		p := e.locations.At(w.Partition)
		switch {
		case p == nil || !slices.Contains(t.locations, p): // it was lost again
		case w.Time > store.Hot:
			e.dispatcher.addWake(w.Time, p, w.Run)
		default:
			e.dispatcher.recovery.BeginRun()
			rec.hot = append(rec.hot, dispatch.DueRun{Tenure: p.Tenure(), Run: w.Run})
		}
	}
	rec.next()
	rec.done()
	e.dispatcher.line.News()
	e.mu.Unlock()
	e.dispatcher.due.Bell.Ring()
	e.inbox.Kick()
	e.life.work.Go(func() { e.locations.reviewHeld(t.locations) })
}

// next loads as many runs that had work in flight as MaxAtWork allows. The engine's mu
// is held.
func (rec *recovery) next() {
	e := rec.engine
	for len(rec.hot) > 0 && e.residents.busy < e.config.MaxAtWork {
		next := rec.hot[0]
		if rec.hot = rec.hot[1:]; len(rec.hot) == 0 {
			rec.hot = nil
		}
		p := e.locations.Under(next.Tenure)
		if p == nil {
			rec.done()
			continue
		}
		r := p.resident(next.Run)
		if r.recovering {
			rec.done()
		}
		r.recovering, r.poked = true, true
		r.activate()
	}
}

// done records that a part of recovery is done. The engine's mu is held.
func (rec *recovery) done() {
	e := rec.engine
	grants, runs, lost := e.dispatcher.recovery.Done()
	e.dispatcher.grantLocked(grants)
	if runs > 0 {
		e.log.Recovered(runs, lost)
	}
}
