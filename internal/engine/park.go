package engine

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/coro"
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

// missing returns the hold of a run whose code this engine lacks.
func (e *Engine) missing(name string) *hold {
	return &hold{core.StatusWaitingForCode, core.Detail{
		Reason: fmt.Sprintf("workflow %q is not registered with the engine %s", name, e.config.Node), Since: e.clock.Now(),
	}}
}

// elsewhere returns the hold of a run that is pinned to another build.
func (e *Engine) elsewhere(build string) *hold {
	return &hold{core.StatusWaitingForCode, core.Detail{
		Reason: fmt.Sprintf("it stays on build %s, with which it began or to which it was moved, and the engine %s has build %s", build, e.config.Node, e.config.Build), Since: e.clock.Now(),
	}}
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
