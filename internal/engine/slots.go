package engine

import (
	"slices"

	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/store"
)

// admit reserves a slot for the next attempt of a call, or enqueues the call.
func (e *Engine) admit(now *watched, c *core.Call) bool {
	r := now.of
	if c.Step() {
		if r.instance == nil {
			return false // its body is in the code, which is not loaded
		}
	} else if r.lacks(c) != "" {
		return false // a node with its build, or with the activity, admits it
	}
	admitted, grants := r.seats.Admit(&now.admitted, &dispatch.Ask{
		Number: c.Number, Code: r.code(c), Key: r.start.Key, Weight: r.start.Weight, Priority: c.Priority, Lost: c.LostAt != 0, Suspect: c.Suspect(),
		Probation: c.Probation(), Promise: c.MayWaitOnRecord(), Unslotted: c.Unslotted(),
	})
	e.dispatcher.grant(grants)
	return admitted
}

// moving reports whether an attempt of the run may be put on record before it has a slot.
func (r *activeRun) moving() bool { return r.engine.dispatcher.slots.Moving(r.start.Key) }

// wanting returns the function that an attempt which was committed without a slot calls when
// it is due.
func (r *activeRun) wanting(d *core.Dispatch) func(*attempt.Attempt) {
	waiter := dispatch.Waiter{Key: r.start.Key, Weight: r.start.Weight, Priority: d.Priority, Activity: r.named(d.Step, d.Name)}
	return func(x *attempt.Attempt) { r.engine.dispatcher.want(x, waiter) }
}

// lacks returns why this node cannot run a call's attempts, or "".
func (r *activeRun) lacks(c *core.Call) string {
	if c.Step() || c.Queue != "" {
		return ""
	}
	if r.staysElsewhere() {
		return otherBuild
	}
	def := r.engine.registry.Activity(c.Name)
	switch {
	case def == nil:
		return core.NotRegistered
	case def.Refuse == nil:
		return ""
	}
	start := r.start // r.run is nil while the run is loaded
	return def.Refuse(seal.Asked{WorkflowID: start.WorkflowID, Headers: start.Headers, Decode: c.Input.Decode})
}

// otherBuild is why a node cannot run a call of a run that is pinned to another build.
const otherBuild = "its run stays on another build"

// staysElsewhere reports whether a run is pinned to another build than this node's, so that
// none of its attempts may begin here.
func (r *activeRun) staysElsewhere() bool {
	pin := r.pin
	if r.run != nil {
		pin = r.run.Pin()
	}
	return pin != "" && pin != r.engine.config.Build
}

// code returns the name under which the code of a call is switched off.
func (r *activeRun) code(c *core.Call) string { return r.named(c.Step(), c.Name) }

func (r *activeRun) named(step bool, name string) string {
	if step {
		return store.StepName(r.start.Type, name)
	}
	return name
}

// noteUnserved records what calls of a run wait for after a durable step. A run that is pinned
// to another build waits for a node, not for an activity.
func (r *activeRun) noteUnserved() {
	e := r.engine
	lacks := slices.DeleteFunc(r.run.Unserved(), func(l core.Lack) bool { return l.Why == otherBuild })
	for _, l := range e.dispatcher.unserved.Set(r.location.Tenure(), r.id, lacks) {
		if l.Why == core.NotRegistered {
			e.log.ActivityMissing(l.Activity)
		} else {
			e.log.ActivityRefused(r.run.Began().WorkflowID, l.Activity, l.Why)
		}
	}
}
