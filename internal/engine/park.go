package engine

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/code"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/store"
)

// hold says why a run has no code for now.
type hold struct {
	status core.Status
	detail core.Detail
}

// missing is the hold of a run whose code this engine lacks.
func (e *Engine) missing(name string) *hold {
	return &hold{core.StatusWaitingForCode, core.Detail{
		Reason: fmt.Sprintf("workflow %q is not registered with the engine %s", name, e.config.Node), Since: e.clock.Now(),
	}}
}

// elsewhere is the hold of a run that stays on another build.
func (e *Engine) elsewhere(build string) *hold {
	return &hold{core.StatusWaitingForCode, core.Detail{
		Reason: fmt.Sprintf("it stays on build %s, with which it began or to which it was moved, and the engine %s has build %s", build, e.config.Node, e.config.Build), Since: e.clock.Now(),
	}}
}

// stillParked is the hold of a run that was parked by the very code that would be
// tried.
func (e *Engine) stillParked(def *code.Declared, past *core.Past) *hold {
	if past.State.Status != core.StatusParked {
		return nil
	}
	d, err := core.DecodeDetail(past.State.Detail)
	if err != nil || (d.Fingerprint != e.fingerprint(def, core.PinIn(&past.Start, past.Turns)) && d.Fingerprint != e.untilRestart()) {
		return nil
	}
	return &hold{core.StatusParked, d}
}

// untilRestart is the fingerprint of a run that is parked for a reason that may
// be gone when the engine starts the next time, whatever its code.
func (e *Engine) untilRestart() string { return "process " + e.process }

// worthTrying reports whether a held run might go on with the code of this
// engine.
func (e *Engine) worthTrying(r store.Run) bool {
	d, err := core.DecodeDetail(r.Detail)
	def := e.defs.workflows[r.Type]
	if def == nil || d.Pin != "" && d.Pin != e.config.Build {
		return e.fittingNode(r.Type, "", d.Pin, d.Tried) != ""
	}
	return err != nil || r.Status != store.Parked || d.Fingerprint != e.fingerprint(def, d.Pin) || d.Pin == "" && e.fittingNode(r.Type, "", "", d.Tried) != ""
}

// parked is the hold of a run whose code failed in a way that is not the run's
// failure.
func (e *Engine) parked(fingerprint string, err error) *hold {
	d := core.Detail{Reason: err.Error(), Since: e.clock.Now(), Fingerprint: fingerprint}
	var mismatch *core.Mismatch
	var panicked *coro.PanicError
	var stuck *replay.StuckError
	var damage *replay.DamageError
	var unread *unreadEnd
	switch {
	case errors.As(err, &unread):
		d.Fingerprint = e.untilRestart()
	case errors.As(err, &mismatch):
		d.Mismatch = mismatch
	case errors.As(err, &panicked):
		d.Reason = "the workflow's code panicked: " + fmt.Sprint(panicked.Value)
		d.Stack = string(panicked.Stack)
	case errors.As(err, &damage):
		d.Stack, d.Fingerprint = string(damage.Stack), e.untilRestart()
	case errors.As(err, &stuck):
		d.Stack, d.Fingerprint = stuck.Stack, e.untilRestart()
	}
	return &hold{core.StatusParked, d}
}

// parkCulprit parks a run that cannot be loaded or committed, by its row alone.
func (e *Engine) parkCulprit(r *activeRun, cause error) {
	e.log.RunParked(r.id, cause)
	if r.create != nil && r.pending == nil {
		return // it does not exist, and who starts it is told
	}
	d := core.Detail{Reason: cause.Error(), Since: e.clock.Now(), Fingerprint: e.untilRestart()}
	if isDamage(cause) {
		d = *e.damageDetail(cause)
	}
	wake := store.Never
	if r.run != nil {
		d.Says = r.run.Says()
		if at := r.run.Deadline(); at > e.clock.Now() {
			wake = at
		}
	}
	state := store.RunState{Status: store.Parked, Wake: wake, Detail: core.EncodeDetail(d), Full: r.run != nil && r.run.State().Full}
	t := store.Turn{Partition: r.partition.home, Ward: r.partition.ward, Epoch: r.partition.epoch, Run: r.id, State: &state}
	if r.pending != nil {
		t = e.parkedStart(r.resident, state)
	}
	err := e.committer.Commit(t)
	r.run = nil // it has no times to be woken at
	if conflict, taken := errors.AsType[*store.ConflictError](err); taken {
		e.startConflict(r.resident, nil, &conflict.Existing)
		return
	}
	if err == nil {
		e.settled(r.resident, &t)
		e.sent(&t)
	}
	if err != nil {
		e.log.ParkFailed(r.id, err)
	}
}
