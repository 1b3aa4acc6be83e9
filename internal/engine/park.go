package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// hold says why a run currently has no code.
type hold struct {
	status core.Status
	detail core.Detail
}

// lacksCode returns the hold of a run whose code this engine lacks, with the reason.
func (e *Engine) lacksCode(why string, args ...any) *hold {
	return &hold{core.StatusWaitingForCode, core.Detail{Reason: fmt.Sprintf(why, args...), Since: e.clock.Now()}}
}

// stillParked returns the hold of a parked run if the code to try is the code that parked it.
func (e *Engine) stillParked(def *seal.WorkflowDeclaration, past *core.Past) *hold {
	if past.State.Status != core.StatusParked {
		return nil
	}
	d, err := core.DecodeDetail(past.State.Detail)
	if err == nil && d.Shared && !e.isHeld(past.Start.Type) {
		return nil
	}
	if err != nil || (d.Fingerprint != e.fingerprint(def, core.PinIn(&past.Start, past.Turns)) && d.Fingerprint != e.untilRestart()) {
		return nil
	}
	return &hold{core.StatusParked, d}
}

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

// untilRestart is the fingerprint of runs that are parked for a reason that a restart of the
// engine may remove, whatever their code.
func (e *Engine) untilRestart() string { return "process " + e.process }

// worthTrying reports whether a held run might continue with the code of this engine or of
// another node.
func (e *Engine) worthTrying(r store.Run) bool {
	d, err := core.DecodeDetail(r.Detail)
	def := e.defs.workflows[r.Type]
	if def == nil || d.Pin != "" && d.Pin != e.config.Build {
		return e.nodes.Fitting(r.Type, "", d.Pin, d.Tried) != ""
	}
	return err != nil || r.Status != store.Parked || d.Shared && !e.isHeld(r.Type) || d.Fingerprint != e.fingerprint(def, d.Pin) || d.Pin == "" && e.nodes.Fitting(r.Type, "", "", d.Tried) != ""
}

// parked returns the hold of a run whose code failed in a way that does not fail the run.
func (e *Engine) parked(fingerprint string, err error) *hold {
	d := core.Detail{Reason: err.Error(), Since: e.clock.Now(), Fingerprint: fingerprint}
	var mismatch *core.Mismatch
	var panicked *coro.PanicError
	var stuck *replay.StuckError
	var damage *replay.DamageError
	var unread *post.UnreadEnd
	switch {
	case errors.As(err, &unread):
		d.Fingerprint = e.untilRestart()
	case errors.As(err, &mismatch):
		d.Mismatch = mismatch
	case errors.As(err, &panicked):
		d.Reason = "the workflow's code panicked: " + fmt.Sprint(panicked.Value)
		d.Stack, d.Broken = string(panicked.Stack), view.BrokenPanicked
	case errors.As(err, &damage):
		d.Stack, d.Fingerprint = string(damage.Stack), e.untilRestart()
	case errors.As(err, &stuck):
		d.Stack, d.Fingerprint, d.Broken = stuck.Stack, e.untilRestart(), view.BrokenStuck
	}
	return &hold{core.StatusParked, d}
}

// parkCulprit parks a run that cannot be loaded or committed, through its row alone.
func (r *activeRun) parkCulprit(cause error) {
	e := r.engine
	e.log.RunParked(r.id, cause)
	if r.create != nil && r.pending == nil {
		return // it does not exist; its caller gets the error
	}
	d := core.Detail{Reason: cause.Error(), Since: e.clock.Now(), Fingerprint: e.untilRestart()}
	if isDamage(cause) {
		d = *e.damageDetail(cause)
	}
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

// isDamage reports whether err says that the record of a run is unusable.
func isDamage(err error) bool {
	var unreadable *history.DamageError
	var useless *replay.DamageError
	return errors.As(err, &unreadable) || errors.As(err, &useless)
}

// damageDetail returns the detail of a run that is parked because its record is unusable.
func (e *Engine) damageDetail(cause error) *core.Detail {
	d := &core.Detail{Reason: cause.Error(), Since: e.clock.Now(), Fingerprint: e.untilRestart(), Damaged: true}
	if useless, is := errors.AsType[*replay.DamageError](cause); is {
		d.Stack = string(useless.Stack)
	}
	return d
}

// loadDamaged parks a run whose record is unusable, unless a message ends it. Past holds what
// precedes the damage.
func (r *activeRun) loadDamaged(past *core.Past, cause error, todo []post.Mail) error {
	if !isDamage(cause) || !r.endsDamaged(todo) {
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
	h := &hold{core.StatusParked, *r.engine.damageDetail(cause)}
	r.run, r.instance, r.hold = run, nil, h
	run.Hold(h.status, h.detail)
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
	return slices.ContainsFunc(slices.Concat(todo, r.mail), resets)
}
