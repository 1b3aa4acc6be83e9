package suspicion

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/suspects"
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

// code is an activity, an inline step or a workflow, on one build.
type code struct{ kind, name, build string }

// deaths is what the log says about code that ended processes.
type deaths map[code]Deaths

// Deaths is what is known of code on one build.
type Deaths struct {
	suspects.Shared
	Held *store.Switch // nil: it is not held
	last int64         // when the last of them died
	lost bool          // workers died one after the other, each with calls of it
}

// doubted reports whether the code is under suspicion.
func (d *Deaths) doubted(now int64) bool { return (d.Deaths() > 0 || d.lost) && !d.old(now) }

// died adds a death. Those long before it were of something else.
func (d *Deaths) died(culprit string, at int64) {
	if d.old(at) {
		d.Shared = suspects.Shared{}
	}
	d.Died(culprit)
	d.last = max(d.last, at)
}

// old reports whether the deaths do not count any more.
func (d *Deaths) old(now int64) bool {
	return d.Held == nil && now-d.last > int64(suspects.Window)
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
func (c deaths) add(w store.Switch) (released bool) {
	if w.Kind == store.SwitchActivity && !w.Off {
		for key, of := range c {
			if key.kind == store.SwitchCrash && key.name == w.Name {
				released = released || of.Held != nil
				delete(c, key)
			}
		}
		return released
	}
	if w.Kind != store.SwitchCrash && w.Kind != store.SwitchWorkflow {
		return false
	}
	name, build := store.OfCrash(w.Name)
	key := code{w.Kind, name, build}
	of := c[key]
	if id, died := strings.CutPrefix(w.Request, diedAlone); died {
		of.died(key.culprit(id), w.Time)
	} else if strings.HasPrefix(w.Request, lostAgain) {
		of.lost, of.last = true, w.Time
	} else if strings.HasPrefix(w.Request, letGo) || of.Held == nil {
		delete(c, key)
		return of.Held != nil
	}
	if w.Off {
		of.Held = &w
	}
	c[key] = of
	return false
}

// culprit returns the call or run that an entry names.
func (k code) culprit(id string) string {
	if k.kind == store.SwitchWorkflow {
		run, _, _ := strings.Cut(id, runOn("", ""))
		return run
	}
	if dot := strings.LastIndexByte(id, '.'); dot >= 0 {
		return id[:dot] // of the attempt's ID
	}
	return id
}

// A worker that dies takes many calls along, and its death is known only when its lease has
// expired. To wait until each call was lost twice, and alone, would cost many workers. So if
// two of them died with calls of an activity in short succession, it is doubted: workers of
// that build claim one call of all such activities at a time, until one survives. So it is
// known which one the next worker died with.

// workers is what this node knows of workers that died. It is used by one goroutine.
type workers struct {
	seen map[string]bool    // those whose deaths were noted
	lost map[code]time.Time // when the last one died with calls of an activity
}

// WorkersDied notes which activities workers had calls of that died. It is called by one
// goroutine at a time.
func (s *Room) WorkersDied(died map[string][]store.Task) {
	for worker, tasks := range died {
		build := ""
		if !s.workers.seen[worker] {
			build = s.buildOfNode(worker)
		}
		if s.workers.seen[worker] = true; build == "" {
			continue
		}
		of := map[string][]store.Task{}
		for _, t := range tasks {
			of[t.Name] = append(of[t.Name], t)
		}
		var doubted []store.Task
		for activity, its := range of {
			if s.doubt(code{store.SwitchCrash, activity, build}, worker) {
				doubted = append(doubted, its...)
			}
		}
		if len(doubted) == 1 { // the only call of a doubted activity
			t := doubted[0]
			s.noteCrash(suspects.Crash{Name: t.Name, Node: worker, Limit: suspects.Limit, Attempt: core.AttemptID(t.Run, t.Number, t.Attempt), WorkflowID: t.WorkflowID})
		}
	}
}

// doubt reports whether an activity was doubted when a worker died with calls of it. If it was
// not and another worker had died so before, it is doubted from now on.
func (s *Room) doubt(key code, worker string) (was bool) {
	before, is := s.workers.lost[key]
	s.workers.lost[key] = time.Now()
	s.mu.Lock()
	known := s.deaths[key]
	was = known.Held == nil && known.doubted(s.config.Clock.Now())
	s.mu.Unlock()
	if known.Held == nil && !was && is && time.Since(before) < suspects.Window {
		s.write(key, lostAgain+key.name+" with "+worker, "workers died one after the other, each with calls of it", false)
	}
	return was
}

// Crashed notes crashes, and calls then when that is durable.
func (s *Room) Crashed(all []suspects.Crash, then func()) {
	s.config.Go(func() {
		for _, c := range all {
			s.noteCrash(c)
		}
		then()
	})
}

// noteCrash writes the entry of a death, which says so if the code is held with it. It does
// nothing if the build of the node is not known any more, or the workflow.
func (s *Room) noteCrash(c suspects.Crash) {
	build := ""
	if c.Name != "" {
		build = s.buildOfNode(c.Node)
	}
	if build == "" || s.reread() != nil {
		return
	}
	kind, culprit, why := store.SwitchCrash, c.Attempt, fmt.Sprintf("a call of %s was the only suspect when its process ended", c.WorkflowID)
	if c.Run != "" {
		kind, culprit, why = store.SwitchWorkflow, runOn(c.Run, c.Node), "the code of run "+c.Run+" ran alone when its process ended"
	}
	s.mu.Lock()
	key := code{kind, c.Name, build}
	of := s.deaths[key]
	s.mu.Unlock()
	if of.Held != nil {
		return
	}
	of.died(key.culprit(culprit), s.config.Clock.Now())
	held := of.Convicted(c.Limit)
	switch {
	case held && c.Run != "":
		why = fmt.Sprintf("the workflow's code ended its process with %d runs in a row, each while it ran alone: on build %s no run of it is tried", of.Deaths(), build)
		s.config.Log.WorkflowHeld(c.Name, build, of.Deaths())
	case held:
		why = fmt.Sprintf("%d calls in a row ended their process, each while it ran alone, the last one that of %s: on build %s none is tried", of.Deaths(), c.WorkflowID, build)
		s.config.Log.ActivityHeld(c.Name, build, of.Deaths())
	}
	s.write(key, diedAlone+culprit, why, held)
}

// Acquit notes that a call of an activity has survived. If others of it died alone, that is
// written first, and then is called when it is durable; else Acquit returns true, and the
// caller goes on.
func (s *Room) Acquit(activity, attemptID string, then func()) (now bool) {
	s.config.Slots.Survived(activity)
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.here(store.SwitchCrash, activity)
	if activity == "" || !of.doubted(s.config.Clock.Now()) || of.Held != nil || s.begun.IsZero() {
		return true
	}
	s.config.Go(func() {
		s.write(s.hereIs(store.SwitchCrash, activity), survived+attemptID, "a call survived", false)
		then()
	})
	return false
}

// SurvivedInQueue acquits the activity of an attempt in a queue if it is doubted, and then calls
// wake.
func (s *Room) SurvivedInQueue(activity, attemptID string, wake func()) {
	s.mu.Lock()
	of := s.here(store.SwitchCrash, activity)
	doubted := of.doubted(s.config.Clock.Now())
	s.mu.Unlock()
	if doubted && s.Acquit(activity, attemptID, wake) {
		wake()
	}
}

// LetGo lets a workflow go that is held on this build, because a person let one of its runs go.
// Its other runs follow.
func (s *Room) LetGo(workflow string) {
	if s.Workflow(workflow).Held != nil {
		s.write(s.hereIs(store.SwitchWorkflow, workflow), letGo+ident.NewToken(), "a person let one of its runs go", false)
	}
}

// write makes an entry about code durable, and applies it here.
func (s *Room) write(of code, request, why string, held bool) {
	c := &s.config
	w := store.Switch{Kind: of.kind, Name: store.CrashName(of.name, of.build), Off: held, Request: request, Why: why, Group: c.Name, By: c.Node}
	err := c.Watch.Persist(c.Context, "noting which code ends its process", func() error {
		_, err := c.Store.Switch(c.Context, w)
		return err
	})
	if err == nil {
		_ = s.reread() // at the latest the next look applies it
	}
}

// reread reads the log of switches.
func (s *Room) reread() error {
	c := &s.config
	return c.Watch.Persist(c.Context, "reading switches", func() error { return c.Reread(c.Context) })
}

// process is a node or a worker.
type process struct {
	id, build string
	live      bool // and of this group
}

// processes returns all nodes and workers that are on record.
func (s *Room) processes(ctx context.Context) (all []process, err error) {
	nodes, err := s.config.Store.Nodes(ctx)
	for _, n := range nodes {
		all = append(all, process{n.ID, n.Build, n.Live && n.Group == s.config.Name})
	}
	if err != nil {
		return nil, err
	}
	workers, err := s.config.Store.Workers(ctx)
	for _, w := range workers {
		all = append(all, process{w.ID, record.WhatServes(&w.Worker).Build, w.Live && w.Group == s.config.Name})
	}
	return all, err
}

// buildOfNode returns the build of a node or worker that is gone, "" if it is not known.
func (s *Room) buildOfNode(id string) (build string) {
	c := &s.config
	_ = c.Watch.Persist(c.Context, "reading the nodes of the group", func() error {
		all, err := s.processes(c.Context)
		if at := slices.IndexFunc(all, func(p process) bool { return p.id == id }); at >= 0 && err == nil {
			build = all[at].build
		}
		return err
	}) // else the engine ends
	return build
}
