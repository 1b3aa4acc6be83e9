package engine

import (
	"bytes"
	"errors"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/internal/suspicion"
)

// errUntried reports that a suspect was loaded but its code is not on trial yet.
var errUntried = errors.New("the code of the run is to be tried")

// locate tells the suspicion of a location.
func (p *location) locate() {
	e := p.engine
	p.suspicion = e.suspicion.At(suspicion.Location{
		Home: p.Partition, Ward: p.Ward, Epoch: p.Epoch, Node: p.Node, Lineage: &p.Lineage,
		Learn: func() error { return p.learnLineage() },
		Hear:  func() error { return p.hearSince("", 0) },
		Lose:  func() { e.locations.lose(p) },
	})
}

// try blocks until the code of a run may run.
func (r *activeRun) try(t *turn) (*suspicion.Turn, error) {
	e := r.engine
	if !r.location.suspicion.Tries(r.id) {
		return nil, nil
	}
	loaded, todo := r.run != nil, t.mail
	return r.location.suspicion.Try(suspicion.Run{
		ID: r.id,
		Code: func() (code suspects.Code, harmless bool) {
			_, code.Workflow = r.names()
			if def := e.registry.Workflow(code.Workflow); def != nil {
				code.Fingerprint, harmless = e.registry.Fingerprint(def, ""), def.Harmless
			}
			return code, harmless
		},
		Ends: func() bool { return !loaded && r.endsSoon(todo) },
	})
}

// names returns the workflow ID and the workflow of a run, even before it is loaded: the ID of
// the run and "" if they are not known.
func (r *activeRun) names() (workflowID, workflow string) {
	switch {
	case r.run != nil:
		return r.run.Began().WorkflowID, r.run.Began().Type
	case r.pending != nil:
		return r.pending.start.WorkflowID, r.pending.start.Type
	}
	row, err := r.engine.db.Find(r.engine.life.ctx, r.location.Partition, "", r.id)
	if err != nil {
		return r.id, ""
	}
	return row.WorkflowID, row.Type
}

// workflowID implements stepper.
func (r *activeRun) workflowID() string {
	id, _ := r.names()
	return id
}

// bringsSuspicion reports whether a run came from another node with evidence against it and is
// not on trial here. It is then loaded again, on trial.
func (r *activeRun) bringsSuspicion(past *core.Past, todo []post.Mail) bool {
	if !bytes.Contains(past.State.Detail, []byte(`"suspect"`)) {
		return false
	}
	d, err := core.DecodeDetail(past.State.Detail)
	if err != nil || d.Suspect == nil || !r.location.suspicion.Bring(r.id, *d.Suspect) {
		return false
	}
	r.putBack(todo)
	return true
}

// crashed notes that calls of activities were alone when their nodes died. The probation lane
// stays closed until that is durable. The engine's mu is held.
func (r *activeRun) crashed(all []core.Crash) {
	e := r.engine
	if len(all) == 0 || e.life.phase != running {
		return
	}
	e.dispatcher.recovery.Begin()
	var noted []suspects.Crash
	for _, c := range all {
		noted = append(noted, suspects.Crash{
			Name: r.named(c.Step, c.Name), Node: c.Node, Limit: c.Limit,
			Attempt: core.AttemptID(r.id, c.Call, c.Attempt), WorkflowID: r.run.Began().WorkflowID,
		})
	}
	e.suspicion.Crashed(noted, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.recovery.done()
	})
}

// acquit frees a slot of the probation lane once it is on record that its attempt survived. The
// engine's mu is held.
func (e *Engine) acquit(activity, attemptID string, leave func() []dispatch.Grant) {
	free := func() {
		e.dispatcher.grantLocked(leave())
		e.letBack()
	}
	now := e.suspicion.Acquit(activity, attemptID, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		free()
	})
	if now {
		free()
	}
}

// letBack lets the other calls of activities start whose suspects have been tried. The engine's
// mu is held.
func (e *Engine) letBack() {
	if e.dispatcher.slots.LetBack() {
		e.dispatcher.serveAgain()
	}
}
