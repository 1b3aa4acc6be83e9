package suspicion

import (
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/store"
)

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
