package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/internal/trial"
	"github.com/perdure/perdure/store"
)

// Code that ends its process whoever runs it is found as a whole (see suspects.Shared): an
// activity or an inline step by its calls, a workflow by its runs. What is known of it is in
// the group's log of switches, by name and build: the deaths of calls or runs that were alone,
// and that some survived. The entry of the death that convicts it is Off, and then nodes of
// that build start no attempt of the activity, as if a person had paused it, and park the runs
// of the workflow. A person lets it go by resuming the activity or a run; a node of another
// build is not concerned.
//
// While calls of an activity are suspects here, or wait to be tried, no other call of it
// starts on this node: it would end the process before the suspects are tried.

// crashKey is code on one build: an activity, an inline step or a workflow.
type crashKey struct{ kind, name, build string }

// crashes is what the log of switches says about code that ended processes.
type crashes map[crashKey]crashRecord

type crashRecord struct {
	suspects.Shared
	last int64         // when the last of them died
	lost bool          // workers died one after the other, each with calls of it
	held *store.Switch // nil: not held
}

// blamed reports whether the code is doubted.
func (r *crashRecord) blamed(now int64) bool { return (r.Deaths() > 0 || r.lost) && !r.old(now) }

// died adds a death. Those long before it were of something else.
func (r *crashRecord) died(culprit string, at int64) {
	if r.old(at) {
		r.Shared = suspects.Shared{}
	}
	r.Died(culprit)
	r.last = max(r.last, at)
}

// old reports whether the deaths do not count any more.
func (r *crashRecord) old(now int64) bool {
	return r.held == nil && now-r.last > int64(suspects.Window)
}

// Requests of entries of these kinds begin with what they say. The ID of the attempt follows,
// or that of the run and of the node.
const (
	diedAlone = "died "
	survived  = "survived "
	letGo     = "let go "
	lostAgain = "lost again "
)

func runOn(run, node string) string { return run + " on " + node }

// add applies an entry of the log, and reports whether it lets an activity go.
func (c crashes) add(w store.Switch) (released bool) {
	if w.Kind == store.SwitchActivity && !w.Off {
		for key, of := range c {
			if key.kind == store.SwitchCrash && key.name == w.Name {
				released = released || of.held != nil
				delete(c, key)
			}
		}
		return released
	}
	if w.Kind != store.SwitchCrash && w.Kind != store.SwitchWorkflow {
		return false
	}
	name, build := store.OfCrash(w.Name)
	key := crashKey{w.Kind, name, build}
	of := c[key]
	if id, died := strings.CutPrefix(w.Request, diedAlone); died {
		of.died(key.culprit(id), w.Time)
	} else if strings.HasPrefix(w.Request, lostAgain) {
		of.lost, of.last = true, w.Time
	} else if strings.HasPrefix(w.Request, letGo) || of.held == nil {
		delete(c, key)
		return of.held != nil
	}
	if w.Off {
		of.held = &w
	}
	c[key] = of
	return false
}

// culprit returns the call or run that an entry names.
func (k crashKey) culprit(id string) string {
	if k.kind == store.SwitchWorkflow {
		run, _, _ := strings.Cut(id, runOn("", ""))
		return run
	}
	if dot := strings.LastIndexByte(id, '.'); dot >= 0 {
		return id[:dot] // of the attempt's ID
	}
	return id
}

// crashesHere returns what is known of code on this node's build. The engine's mu is held.
func (e *Engine) crashesHere(kind, name string) crashRecord {
	return e.switches.crashes[crashKey{kind, name, e.config.Build}]
}

// heldActivities adds the activities that are held on builds that are in use to the paused
// ones. A client asks which builds are.
func (e *Engine) heldActivities(ctx context.Context, paused map[string]store.Switch) error {
	e.mu.Lock()
	all, serves := maps.Clone(e.switches.crashes), e.phase != client
	e.mu.Unlock()
	maps.DeleteFunc(all, func(key crashKey, of crashRecord) bool { return of.held == nil || key.kind != store.SwitchCrash })
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
	workers, err := e.db.Workers(ctx)
	if err != nil {
		return err
	}
	for _, w := range workers {
		build := record.WhatServes(&w.Worker).Build
		live[build] = live[build] || w.Live && w.Group == e.config.Group
	}
	for key, of := range all {
		if _, off := paused[key.name]; live[key.build] && !off {
			off := *of.held
			off.Name, off.By = key.name, "" // no person did that
			paused[key.name] = off
		}
	}
	return nil
}

// letBack lets the other calls of activities start whose suspects have been tried. The
// engine's mu is held.
func (e *Engine) letBack() {
	if e.slots.LetBack() {
		e.serveAgain()
	}
}

// doubted reports whether workers of this build died with calls of an activity in a queue, so
// that they are tried one at a time, how many were alone at that, and whether the next one may
// be tried.
func (e *Engine) doubted(activity string) (deaths int, is, try bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	of := e.crashesHere(store.SwitchCrash, activity)
	return of.Deaths(), of.blamed(e.clock.Now()), !time.Now().Before(e.begun.Add(of.Patience()))
}

// survivedInQueue acquits the activity of an attempt in a queue, whose other calls are then
// claimed again.
func (e *Engine) survivedInQueue(activity, attemptID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if of := e.crashesHere(store.SwitchCrash, activity); of.blamed(e.clock.Now()) {
		e.acquit(activity, attemptID, e.server.Wake)
	}
}

// spreadBlame tells the slots which activities are to be tried last, and how late, and the
// trials which workflows are doubted. The engine's mu is held.
func (e *Engine) spreadBlame() {
	blame := map[string]dispatch.Blame{}
	for _, p := range e.partitions {
		if p.trials != nil {
			p.trials.book.Blame(e.blamedWorkflows())
		}
	}
	for key, of := range e.switches.crashes {
		if key.build != e.config.Build || of.held != nil || key.kind != store.SwitchCrash || of.old(e.clock.Now()) {
			continue
		}
		until := e.begun.Add(of.Patience())
		blame[key.name] = dispatch.Blame{Deaths: of.Deaths(), Until: until}
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
			if c.Step {
				c.Name = store.StepName(run.Type, c.Name)
			}
			e.noteCrash(&c, core.AttemptID(r.id, c.Call, c.Attempt), run.WorkflowID)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.recovered()
	})
}

// noteCrash writes the entry of a call that died alone.
func (e *Engine) noteCrash(c *core.Crash, attemptID, workflowID string) {
	e.noteDeath(store.SwitchCrash, c.Name, c.Node, c.Limit, store.Switch{
		Request: diedAlone + attemptID, Why: fmt.Sprintf("a call of %s was the only suspect when its process ended", workflowID),
	}, func(of *suspects.Shared, build string) string {
		e.log.ActivityHeld(c.Name, build, of.Deaths())
		return fmt.Sprintf("%d calls in a row ended their process, each while it ran alone, the last one that of %s: on build %s none is tried", of.Deaths(), workflowID, build)
	})
}

// accuseRuns notes that runs of workflows were alone when their nodes died.
func (e *Engine) accuseRuns(all []trial.Accusation) {
	for _, a := range all {
		if a.Workflow == "" {
			continue
		}
		e.noteDeath(store.SwitchWorkflow, a.Workflow, a.Node, trial.Limit, store.Switch{
			Request: diedAlone + runOn(a.Run, a.Node), Why: "the code of run " + a.Run + " ran alone when its process ended",
		}, func(of *suspects.Shared, build string) string {
			e.log.WorkflowHeld(a.Workflow, build, of.Deaths())
			return fmt.Sprintf("the workflow's code ended its process with %d runs in a row, each while it ran alone: on build %s no run of it is tried", of.Deaths(), build)
		})
	}
}

// noteDeath writes the entry of a death, which held completes if it convicts the code. It does
// nothing if the build of the node is not known any more.
func (e *Engine) noteDeath(kind, name, node string, limit int, w store.Switch, held func(of *suspects.Shared, build string) string) {
	build := e.buildOfNode(node)
	if build == "" || e.readNow() != nil {
		return
	}
	e.mu.Lock()
	key := crashKey{kind, name, build}
	of := e.switches.crashes[key]
	e.mu.Unlock()
	if of.held != nil {
		return
	}
	of.died(key.culprit(strings.TrimPrefix(w.Request, diedAlone)), e.clock.Now())
	w.Kind, w.Name = kind, store.CrashName(name, build)
	if w.Off = of.Convicted(limit); w.Off {
		w.Why = held(&of.Shared, build)
	}
	e.writeCrash(w)
}

// acquit notes that a call of an activity of which others died alone has survived, and then
// goes on. The engine's mu is held.
func (e *Engine) acquit(activity, attemptID string, then func()) {
	e.slots.Survived(activity)
	of := e.crashesHere(store.SwitchCrash, activity)
	if activity == "" || !of.blamed(e.clock.Now()) || of.held != nil || e.phase != running {
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

// acquitWorkflow notes that runs of a workflow have gone on of which others died alone. The
// engine's mu is held.
func (e *Engine) acquitWorkflow(workflow string) {
	if e.phase == running {
		e.work.Go(func() {
			e.writeCrash(store.Switch{Kind: store.SwitchWorkflow, Name: store.CrashName(workflow, e.config.Build), Request: survived + ident.NewToken(), Why: "its runs went on"})
		})
	}
}

// hold returns the hold of a run of a workflow that is held.
func (r *crashRecord) hold(workflowID, fingerprint string) *hold {
	return &hold{core.StatusParked, core.Detail{
		Reason:      r.held.Why + "; they are tried again on another build, or after perdure resume-run " + workflowID,
		Fingerprint: fingerprint, Deaths: r.Deaths(), Shared: true,
	}}
}

func (e *Engine) isHeld(workflow string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.crashesHere(store.SwitchWorkflow, workflow).held != nil
}

// releaseWorkflow lets a workflow go that is held on this build, because a person let one of
// its runs go. Its other runs follow.
func (e *Engine) releaseWorkflow(workflow string) {
	if e.isHeld(workflow) {
		e.writeCrash(store.Switch{Kind: store.SwitchWorkflow, Name: store.CrashName(workflow, e.config.Build), Request: letGo + ident.NewToken(), Why: "a person let one of its runs go"})
	}
}

// blamedWorkflows returns how many runs of a workflow were alone at deaths on this node's
// build. The engine's mu is held.
func (e *Engine) blamedWorkflows() map[string]int {
	all := map[string]int{}
	for key, of := range e.switches.crashes {
		if key.kind == store.SwitchWorkflow && key.build == e.config.Build && of.held == nil && !of.old(e.clock.Now()) {
			all[key.name] = of.Deaths()
		}
	}
	return all
}

// writeCrash makes an entry durable, and applies it here.
func (e *Engine) writeCrash(w store.Switch) {
	w.Group, w.By = e.config.Group, e.config.Node
	err := e.persist("noting which code ends its process", func() error {
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

// buildOfNode returns the build of a node or worker that is gone, "" if it is not known.
func (e *Engine) buildOfNode(id string) (build string) {
	err := e.persist("reading the nodes of the group", func() error {
		nodes, err := e.db.Nodes(e.ctx)
		for _, n := range nodes {
			if n.ID == id {
				build = n.Build
			}
		}
		if err != nil || build != "" {
			return err
		}
		workers, err := e.db.Workers(e.ctx)
		for _, w := range workers {
			if w.ID == id {
				build = record.WhatServes(&w.Worker).Build
			}
		}
		return err
	})
	if err != nil {
		return ""
	}
	return build
}
