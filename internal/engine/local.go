package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
)

// local is the engine as request.Local: requests of this process about partitions that it
// owns take shortcuts.
type local struct{ *Engine }

var _ request.Local = local{}

// Create implements request.Local.
func (e local) Create(ctx context.Context, row *store.Run, start *history.Start, forEnd bool) (served bool, err error) {
	away := e.nodes.ToBegin(start, nil) != ""
	e.mu.Lock()
	if e.life.phase == stopped || e.life.stopping {
		e.mu.Unlock()
		return true, ErrStopped
	}
	p := e.locations.owns(row.Partition)
	if p == nil || e.life.phase == draining {
		e.mu.Unlock()
		return false, nil
	}
	if e.registry.Workflow(row.Type) == nil {
		e.mu.Unlock()
		return true, &history.InputError{What: "workflow " + fmt.Sprintf("%q", row.Type), Problem: "is not registered with this engine; register it where the engine is opened"}
	}
	r := p.newResident(row.ID).stepper.(*activeRun)
	r.create, r.elsewhere = row, away
	started := make(chan error, 1)
	r.started = append(r.started, started)
	e.residents.all[row.ID] = r.resident
	if e.hold(r, start) {
		r.poked = true
		r.activate()
	}
	inMemory := r.entry == held
	e.mu.Unlock()
	if inMemory {
		if err, known := e.heldStart(ctx, r, started, forEnd); known {
			return true, err
		}
	}
	select {
	case err := <-started:
		return true, err
	case <-e.life.ctx.Done():
		return true, ErrStopped
	case <-e.db.writes.Gone():
		return true, errors.Join(e.db.writes.Err(), errUnknownStart)
	case <-e.db.reads.Gone():
		return true, errors.Join(e.db.reads.Err(), errUnknownStart)
	case <-ctx.Done():
		return true, fmt.Errorf("%w; it is unknown whether the run was started: repeat the start with the same ID", ctx.Err())
	}
}

// errUnknownStart is what a start gets whose database is gone.
var errUnknownStart = errors.New("it is unknown whether the run was started: repeat the start with the same ID when that is mended")

// heldStart waits for a slot for a run that is started here. When patience runs out it orders
// the row to be written.
func (e *Engine) heldStart(ctx context.Context, r *activeRun, started <-chan error, forEnd bool) (err error, known bool) {
	patience := heldBriefly
	if forEnd {
		patience = heldForEnd
	}
	timer := e.pools.timers.Borrow(patience)
	defer e.pools.timers.Return(timer)
	select {
	case err := <-started:
		return err, true
	case <-timer.C:
	case <-ctx.Done():
	case <-e.life.ctx.Done():
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	r.writeDown()
	return nil, false
}

// Serves implements request.Local.
func (e local) Serves(partition int, run string) (served, resident bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.residents.all[run]
	resident = r != nil && !r.gone && r.location.Partition == partition && e.locations.owns(r.location.Number) != nil
	return resident || e.locations.owns(partition) != nil && !e.nodes.HasWards(partition), resident
}

// Posted implements request.Local.
func (e local) Posted() { e.inbox.Kick() }

// Switched implements request.Local.
func (e local) Switched(ctx context.Context) {
	if e.switches.read(ctx) != nil {
		e.switches.kick.Ring() // the switch is durable and is read soon
	}
}

// Query implements request.Local.
func (e local) Query(ctx context.Context, row *store.Run, name string, input history.Payload) (answer history.Payload, served bool, err error) {
	e.mu.Lock()
	p := e.locations.owns(store.Place(row.Partition, row.Ward))
	e.mu.Unlock()
	if p == nil && (row.Status.Open() || e.registry.Workflow(row.Type) == nil) {
		return answer, false, nil
	}
	answer, err = e.queryHere(ctx, p, row, name, input)
	return answer, true, err
}

// queryHere answers a query of a run that this node owns or that has ended.
func (e *Engine) queryHere(ctx context.Context, p *location, row *store.Run, name string, input history.Payload) (history.Payload, error) {
	if !row.Status.Open() {
		return e.queryEnded(ctx, row, name, input)
	}
	answered := make(chan answer, 1)
	q := question{name, input, answered} // it is answered between two turns
	e.mu.Lock()
	if !p.Lost() {
		r := p.resident(row.ID)
		r.questions = append(r.questions, q)
		r.activate()
	} else {
		turnAway([]question{q})
	}
	e.mu.Unlock()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		return history.Payload{}, ctx.Err()
	case <-e.life.ctx.Done():
		return history.Payload{}, ErrStopped
	}
}

// queryEnded runs a query on the code of a run that has ended.
func (e *Engine) queryEnded(ctx context.Context, row *store.Run, name string, input history.Payload) (history.Payload, error) {
	if e.registry.Workflow(row.Type) == nil {
		return history.Payload{}, fmt.Errorf("%w: workflow %q is not registered with the engine %s", ErrNoCode, row.Type, e.config.Node)
	}
	select {
	case e.residents.loading <- struct{}{}:
		defer func() { <-e.residents.loading }()
	case <-ctx.Done():
		return history.Payload{}, ctx.Err()
	}
	value, err := e.checker().Query(ctx, row, name, input)
	return value, told(err)
}
