package engine

import (
	"errors"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/hold"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/store"
)

// obeyLetGo lets the code of a parked run be tried again, once: if it ends its process again,
// the deaths count from then on.
func (r *activeRun) obeyLetGo(past *core.Past, d core.Detail) error {
	e := r.engine
	r.location.suspicion.Clear(r.id)
	e.suspicion.LetGo(past.Start.Type)
	d.Deaths, d.Shared = 0, false
	past.State.Detail = core.EncodeDetail(d)
	state := record.StoreState(past.State)
	t := r.change()
	t.State = &state
	return r.commit(t)
}

// parkCulprit parks a run that cannot be loaded or committed, through its row alone.
func (r *activeRun) parkCulprit(cause error) {
	e := r.engine
	e.log.RunParked(r.id, cause)
	if r.create != nil && r.pending == nil {
		return // it does not exist; its caller gets the error
	}
	d := e.holds.Unloadable(cause).Detail
	wake := store.Never
	if r.run != nil {
		d.Says, d.Awaited = r.run.Says(), r.run.Awaited()
		if at := r.run.Deadline(); at > e.clock.Now() {
			wake = at
		}
	}
	state := store.RunState{Status: store.Parked, Wake: wake, Detail: core.EncodeDetail(d), Full: r.run != nil && r.run.State().Full}
	t := r.change()
	if t.State = &state; r.pending != nil {
		t = r.parkedStart(state)
	}
	err := r.commit(t)
	r.run = nil // rememberWake must not use its due times
	if conflict, taken := errors.AsType[*store.ConflictError](err); taken {
		r.startConflict(nil, &conflict.Existing)
		return
	}
	if err != nil {
		e.log.ParkFailed(r.id, err)
	}
}

// A run is damaged if part of its record cannot be read or does not fit together. It is parked
// through its row alone and is not kept in memory. A message that ends it loads what precedes
// the damage, without code.

// errDamaged reports that a damaged run did not end after all, and has to be parked.
var errDamaged = errors.New("the run is damaged")

// loadDamaged parks a run whose record is unusable, unless a message ends it. Past holds what
// precedes the damage.
func (r *activeRun) loadDamaged(past *core.Past, cause error, todo []post.Mail) error {
	if !hold.IsDamage(cause) || !r.endsDamaged(todo) {
		r.parkCulprit(cause)
		return cause
	}
	var run *core.Run
	for _, turns := range [][]core.StoredTurn{past.Turns, nil} {
		run = core.New(r.coreConfig(&past.Start), past.Start)
		if replay.Protect(func() error { return run.LoadDamaged(turns, past.Last, past.Rows, past.State) }) == nil {
			break
		}
	}
	r.run, r.instance, r.hold = run, nil, r.engine.holds.Unloadable(cause)
	run.Hold(r.hold.Status, r.hold.Detail)
	return nil
}

// endsDamaged reports whether a message ends a run even if little of it can be read.
func (r *activeRun) endsDamaged(todo []post.Mail) bool {
	e := r.engine
	if r.endsSoon(todo) {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(slices.Concat(todo, r.mail), post.Mail.Resets)
}
