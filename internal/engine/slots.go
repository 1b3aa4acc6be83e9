package engine

import (
	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/store"
)

// admit reserves a slot for the next attempt of a call, or enqueues the call.
func (e *Engine) admit(now *watched, c *core.Call) bool {
	r := now.of
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase != running || r.dropped || now.givenUp {
		return false // it stays queued in the database
	}
	if !e.member.Holds() {
		e.refusedLease = true
		r.slotRefused = true
		return false
	}
	if r.partition.leaving {
		r.slotRefused = true
		return false
	}
	if c.Step() {
		if r.instance == nil {
			return false // its body is in the code, which is not loaded
		}
	} else if e.lacks(r, c) != "" {
		return false // a node with its build, or with the activity, admits it
	}
	code := r.code(c)
	if e.switchedOff(code) {
		r.slotRefused = true
		e.grant(r.freeSlot(c.Number))
		return false
	}
	lane := attempt.Regular
	switch {
	case c.Probation():
		lane = attempt.Probation
	case e.slots.Blamed(code): // each of its calls is tried as if it were a suspect
		lane = attempt.Probation
		r.slotRefused = true // it asks again when that is over
		e.holdBack(code)
	}
	if granted := r.slots[c.Number]; granted != nil && granted.Lane() != lane {
		e.grant(r.freeSlot(c.Number))
	}
	if lane == attempt.Regular && e.suspectedHere(code) {
		r.slotRefused = true // until its suspects have been tried
		e.grant(r.freeSlot(c.Number))
		return false
	}
	if lane == attempt.Probation {
		if r.slots[c.Number] == nil { // else the grant, which holds the size of its group, is in the mail
			e.awaitSlot(r, c, code, lane)
			e.grant(e.slots.Serve())
		}
		return false
	}
	if c.Unslotted() && r.slots[c.Number] == nil {
		return true // it asks for one when it begins
	}
	if r.slots[c.Number] == nil {
		slot := e.keptSlot(r.resident, c.Priority)
		if slot == nil {
			slot = e.slots.Take(lane)
		}
		if slot == nil {
			e.awaitSlot(r, c, code, lane)
			return false
		}
		r.reserve(c.Number, slot)
	}
	now.admitted = append(now.admitted, c.Number)
	return true
}

// awaitSlot enqueues a call for a slot. The engine's mu is held.
func (e *Engine) awaitSlot(r *activeRun, c *core.Call, code string, lane attempt.Lane) {
	e.slots.Wait(&attempt.Waiter{
		Call: attempt.Call{Run: r.id, Number: c.Number}, Tenure: r.partition.tenure(),
		Lane: lane, Suspect: c.Suspect(), Priority: c.Priority, Lost: c.LostAt != 0, Activity: code, Doubted: !c.Probation(),
	})
}

// wanting returns the function that an attempt which was committed without a slot calls when
// it is due.
func (e *Engine) wanting(r *activeRun, d *core.Dispatch) func(*attempt.Attempt) {
	name, priority := r.named(d.Step, d.Name), d.Priority
	return func(x *attempt.Attempt) { e.wantSlot(x, name, priority) }
}

// wantSlot gives a slot to an attempt or enqueues it.
func (e *Engine) wantSlot(x *attempt.Attempt, activity string, priority int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.servedOf(x)
	if e.phase != running || p != nil && p.leaving || e.switchedOff(activity) || e.suspectedHere(activity) {
		x.Decline() // it is enqueued for another node, or until the activity is resumed
		return
	}
	if slot := e.slots.Take(attempt.Regular); slot != nil {
		if !x.Launch(slot) {
			e.grant(slot.Free())
		}
		return
	}
	if p == nil || x.Ended() {
		return // another node owns its run; the attempt is canceled
	}
	e.slots.Wait(&attempt.Waiter{
		Call: attempt.Call{Run: x.Run, Number: x.Call}, Tenure: x.Tenure, Priority: priority, Activity: activity, Attempt: x,
	})
}

// reserve keeps a slot for a call until its attempt begins.
func (r *resident) reserve(call int64, slot *attempt.Slot) {
	if r.slots == nil {
		r.slots = map[int64]*attempt.Slot{}
	}
	r.slots[call] = slot
}

// keep leaves the slot of an ended attempt to its run, whose next step may use it for another
// call. It does so only if no step is in progress, because a slot must not wait for a commit.
// The engine's mu is held.
func (e *Engine) keep(r *resident, slot *attempt.Slot) (kept bool) {
	if r == nil || slot == nil || r.stepping || r.dropped || r.partition.leaving || e.phase != running {
		return false
	}
	r.kept = append(r.kept, slot)
	return true
}

// keptSlot returns a slot that was left to a run, nil if there is none that a call of that
// priority may use. The engine's mu is held.
func (e *Engine) keptSlot(r *resident, priority int) *attempt.Slot {
	for len(r.kept) > 0 {
		last := len(r.kept) - 1
		slot := r.kept[last]
		r.kept = r.kept[:last]
		if slot.Keep(priority) {
			return slot
		}
		e.grant(slot.Free())
	}
	return nil
}

// freeUnused frees the slots that a step did not use, and takes a run that has begun out of
// the line.
func (e *Engine) freeUnused(r *resident) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.freeKept(r)
	e.leavesLine(r)
}

// freeKept frees the slots that were left to a run. The engine's mu is held.
func (e *Engine) freeKept(r *resident) {
	for _, slot := range r.kept {
		e.grant(slot.Free())
	}
	clear(r.kept)
	r.kept = r.kept[:0]
}

// freeSlot frees the slot that is reserved for a call, if any, and returns the new grants.
func (r *resident) freeSlot(call int64) []attempt.Grant {
	slot := r.slots[call]
	delete(r.slots, call)
	return slot.Free()
}

// grant delivers slots to the calls that waited for them. The engine's mu is held.
func (e *Engine) grant(grants []attempt.Grant) {
	for len(grants) > 0 {
		g := grants[0]
		grants = grants[1:]
		p := e.partitions[g.Partition]
		if p == nil || p.epoch != g.Epoch { // the partition was lost meanwhile
			grants = append(grants, g.Slot.Free()...)
			continue
		}
		if g.Number == attempt.ToBegin {
			grants = append(grants, e.letBegin(p, g.Run, g.Slot)...)
			continue
		}
		if x := g.Attempt; x != nil {
			if e.switchedOff(g.Activity) || e.suspectedHere(g.Activity) || !x.Launch(g.Slot) { // it stops waiting soon
				grants = append(grants, g.Slot.Free()...)
			}
			continue
		}
		r := e.resident(p, g.Run)
		switch off := e.switchedOff(g.Activity) || g.Lane == attempt.Regular && e.suspectedHere(g.Activity); {
		case off || r.slots[g.Number] != nil:
			r.slotRefused = r.slotRefused || off // the run asks again when the activity is resumed
			grants = append(grants, g.Slot.Free()...)
		default:
			r.reserve(g.Number, g.Slot)
			e.deliverLocked(p, g.Run, mail{input: core.Granted{Call: g.Number, Group: g.Group}})
		}
	}
}

// slotRule makes grants void whose slot was withdrawn meanwhile.
func slotRule() rule {
	return rule{void: func(r *activeRun, m mail) bool {
		g, is := m.input.(core.Granted)
		if !is {
			return false
		}
		return r.slots[g.Call] == nil
	}}
}

// lacks returns why this node cannot run a call's attempts, or "".
func (e *Engine) lacks(r *activeRun, c *core.Call) string {
	if c.Step() || c.Queue != "" {
		return ""
	}
	if r.staysElsewhere() {
		return otherBuild
	}
	def := e.defs.activities[c.Name]
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
