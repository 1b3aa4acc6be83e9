package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/store"
)

// An activity all of whose calls end their process is found as a whole (see suspects.Shared).
// What is known of it is in the group's log of switches, by activity and build: the deaths of
// calls that were alone, and that one survived. The entry of the death that convicts the
// activity is Off, and then nodes of that build start no attempt of it, as if a person had
// paused it. A person lets it go by resuming it; a node of another build is not concerned.
//
// While calls of an activity are suspects here, or wait to be tried, no other call of it
// starts on this node: it would end the process before the suspects are tried.

// crashKey is an activity on one build.
type crashKey struct{ activity, build string }

// crashes is what the log of switches says about activities that ended processes.
type crashes map[crashKey]crashRecord

type crashRecord struct {
	suspects.Shared
	held *store.Switch // nil: not held
}

// Requests of entries of the kind store.SwitchCrash begin with what they say; the ID of the
// attempt follows.
const (
	diedAlone = "died "
	survived  = "survived "
)

// add applies an entry of the log, and reports whether it lets an activity go.
func (c crashes) add(w store.Switch) (released bool) {
	if w.Kind == store.SwitchActivity && !w.Off {
		for key, of := range c {
			if key.activity == w.Name {
				released = released || of.held != nil
				delete(c, key)
			}
		}
		return released
	}
	if w.Kind != store.SwitchCrash {
		return false
	}
	activity, build := store.OfCrash(w.Name)
	key := crashKey{activity, build}
	of := c[key]
	if id, died := strings.CutPrefix(w.Request, diedAlone); died {
		of.Died(callOf(id))
	} else if of.held == nil {
		delete(c, key)
		return false
	}
	if w.Off {
		of.held = &w
	}
	c[key] = of
	return false
}

// callOf returns the call ID in an attempt ID.
func callOf(attemptID string) string {
	if dot := strings.LastIndexByte(attemptID, '.'); dot >= 0 {
		return attemptID[:dot]
	}
	return attemptID
}

// heldHere reports whether an activity is held on this node's build. The engine's mu is held.
func (e *Engine) heldHere(activity string) bool {
	return e.switches.crashes[crashKey{activity, e.config.Build}].held != nil
}

// heldActivities adds the activities that are held on builds that are in use to the paused
// ones. A client asks which builds are.
func (e *Engine) heldActivities(ctx context.Context, paused map[string]store.Switch) error {
	e.mu.Lock()
	all, serves := maps.Clone(e.switches.crashes), e.phase != client
	e.mu.Unlock()
	maps.DeleteFunc(all, func(_ crashKey, of crashRecord) bool { return of.held == nil })
	if len(all) == 0 {
		return nil
	}
	live := map[string]bool{e.config.Build: serves}
	nodes, err := e.db.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		live[n.Build] = live[n.Build] || n.Live && n.Group == e.config.Group
	}
	for key, of := range all {
		if _, off := paused[key.activity]; live[key.build] && !off {
			off := *of.held
			off.Name, off.By = key.activity, "" // no person did that
			paused[key.activity] = off
		}
	}
	return nil
}

// suspectedHere reports whether calls of an activity are tried on this node, so that no other
// call of it may start. The engine's mu is held.
func (e *Engine) suspectedHere(activity string) bool {
	if activity == "" || !e.slots.Suspected(activity) {
		return false
	}
	if e.heldBack == nil {
		e.heldBack = map[string]bool{}
	}
	e.heldBack[activity] = true
	return true
}

// letBack lets the other calls of activities start whose suspects have been tried. The
// engine's mu is held.
func (e *Engine) letBack() {
	freed := false
	for activity := range e.heldBack {
		if !e.slots.Suspected(activity) {
			delete(e.heldBack, activity)
			freed = true
		}
	}
	if freed && e.phase == running {
		e.serveAgain()
	}
}

// spreadBlame tells the slots which activities are to be tried last, and how late. The
// engine's mu is held.
func (e *Engine) spreadBlame() {
	blame := map[string]attempt.Blame{}
	for key, of := range e.switches.crashes {
		if key.build != e.config.Build || of.held != nil {
			continue
		}
		until := e.begun.Add(of.Patience())
		blame[key.activity] = attempt.Blame{Deaths: of.Deaths(), Until: until}
		if wait := time.Until(until); wait > 0 && e.phase == running {
			time.AfterFunc(wait, func() {
				e.mu.Lock()
				defer e.mu.Unlock()
				if e.phase == running {
					e.grant(e.slots.Serve())
				}
			})
		}
	}
	e.slots.Blame(blame)
}

// accuse notes that calls of activities were alone when their nodes died. The probation lane
// stays closed until that is durable. The engine's mu is held.
func (e *Engine) accuse(r *activeRun, all []core.Crash) {
	if len(all) == 0 || e.phase != running {
		return
	}
	e.closeLane()
	all, run := slices.Clone(all), *r.run.Began()
	e.work.Go(func() {
		for _, c := range all {
			e.noteCrash(&c, core.AttemptID(r.id, c.Call, c.Attempt), run.WorkflowID)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.recovered()
	})
}

// noteCrash writes the entry of a call that died alone. It does nothing if the build of the
// node is not known any more.
func (e *Engine) noteCrash(c *core.Crash, attemptID, workflowID string) {
	build := e.buildOfNode(c.Node)
	if build == "" || e.readNow() != nil {
		return
	}
	e.mu.Lock()
	key := crashKey{c.Name, build}
	of := e.switches.crashes[key]
	e.mu.Unlock()
	if of.held != nil {
		return
	}
	of.Died(callOf(attemptID))
	w := store.Switch{
		Kind: store.SwitchCrash, Name: store.CrashName(c.Name, build), Request: diedAlone + attemptID,
		Why: fmt.Sprintf("a call of %s was the only suspect when its process ended", workflowID),
	}
	if w.Off = of.Convicted(c.Limit); w.Off {
		w.Why = fmt.Sprintf("%d calls in a row ended their process, each while it ran alone, the last one that of %s: on build %s none is tried", of.Deaths(), workflowID, build)
		e.log.ActivityHeld(c.Name, build, of.Deaths())
	}
	e.writeCrash(w)
}

// acquit notes that a call of an activity of which others died alone has survived, and then
// goes on. The engine's mu is held.
func (e *Engine) acquit(activity, attemptID string, then func()) {
	e.slots.Survived(activity)
	of := e.switches.crashes[crashKey{activity, e.config.Build}]
	if activity == "" || of.Deaths() == 0 || of.held != nil || e.phase != running {
		then()
		return
	}
	e.work.Go(func() {
		e.writeCrash(store.Switch{Kind: store.SwitchCrash, Name: store.CrashName(activity, e.config.Build), Request: survived + attemptID, Why: "a call survived"})
		e.mu.Lock()
		defer e.mu.Unlock()
		then()
	})
}

// writeCrash makes an entry durable, and applies it here.
func (e *Engine) writeCrash(w store.Switch) {
	w.Group, w.By = e.config.Group, e.config.Node
	err := e.persist("noting which activities end their process", func() error {
		_, err := e.db.Switch(e.ctx, w)
		return err
	})
	if err == nil {
		_ = e.readNow() // at the latest the next look applies it
	}
}

// readNow reads the log of switches.
func (e *Engine) readNow() error {
	return e.persist("reading switches", func() error { return e.readSwitches(e.ctx) })
}

// buildOfNode returns the build of a node that is gone, "" if it is not known.
func (e *Engine) buildOfNode(id string) (build string) {
	err := e.persist("reading the nodes of the group", func() error {
		nodes, err := e.db.Nodes(e.ctx)
		for _, n := range nodes {
			if n.ID == id {
				build = n.Build
			}
		}
		return err
	})
	if err != nil {
		return ""
	}
	return build
}
