package suspicion

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/internal/trial"
	"github.com/perdure/perdure/store"
)

// Crash is a call that was alone when its process died.
type Crash struct {
	Name       string // the activity, or the inline step as switches name it
	Node       string // that died
	Limit      int    // of such deaths
	Attempt    string // its ID
	WorkflowID string
}

// Accuse notes crashes, and calls then when that is durable.
func (s *Room) Accuse(all []Crash, then func()) {
	s.config.Go(func() {
		for _, c := range all {
			s.noteCrash(c)
		}
		then()
	})
}

// noteCrash writes the entry of a call that died alone.
func (s *Room) noteCrash(c Crash) {
	s.noteDeath(store.SwitchCrash, c.Name, c.Node, c.Limit, store.Switch{
		Request: diedAlone + c.Attempt, Why: fmt.Sprintf("a call of %s was the only suspect when its process ended", c.WorkflowID),
	}, func(of *suspects.Shared, build string) string {
		s.config.Log.ActivityHeld(c.Name, build, of.Deaths())
		return fmt.Sprintf("%d calls in a row ended their process, each while it ran alone, the last one that of %s: on build %s none is tried", of.Deaths(), c.WorkflowID, build)
	})
}

// accuseRuns notes that runs of workflows were alone when their nodes died.
func (s *Room) accuseRuns(all []trial.Accusation) {
	for _, a := range all {
		if a.Workflow == "" {
			continue
		}
		s.noteDeath(store.SwitchWorkflow, a.Workflow, a.Node, trial.Limit, store.Switch{
			Request: diedAlone + runOn(a.Run, a.Node), Why: "the code of run " + a.Run + " ran alone when its process ended",
		}, func(of *suspects.Shared, build string) string {
			s.config.Log.WorkflowHeld(a.Workflow, build, of.Deaths())
			return fmt.Sprintf("the workflow's code ended its process with %d runs in a row, each while it ran alone: on build %s no run of it is tried", of.Deaths(), build)
		})
	}
}

// noteDeath writes the entry of a death, which held completes if it convicts the code. It does
// nothing if the build of the node is not known any more.
func (s *Room) noteDeath(kind, name, node string, limit int, w store.Switch, held func(of *suspects.Shared, build string) string) {
	build := s.buildOfNode(node)
	if build == "" || s.reread() != nil {
		return
	}
	s.mu.Lock()
	key := code{kind, name, build}
	of := s.deaths[key]
	s.mu.Unlock()
	if of.Held != nil {
		return
	}
	of.died(key.culprit(strings.TrimPrefix(w.Request, diedAlone)), s.config.Clock.Now())
	w.Kind, w.Name = kind, store.CrashName(name, build)
	if w.Off = of.Convicted(limit); w.Off {
		w.Why = held(&of.Shared, build)
	}
	s.write(w)
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
		s.write(store.Switch{Kind: store.SwitchCrash, Name: store.CrashName(activity, s.config.Build), Request: survived + attemptID, Why: "a call survived"})
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

// acquitWorkflow notes that runs of a workflow have gone on of which others died alone.
func (s *Room) acquitWorkflow(workflow string) {
	if !s.begun.IsZero() {
		s.config.Go(func() { s.writeWorkflow(workflow, survived, "its runs went on") })
	}
}

// LetGo lets a workflow go that is held on this build, because a person let one of its runs go.
// Its other runs follow.
func (s *Room) LetGo(workflow string) {
	if s.Workflow(workflow).Held != nil {
		s.writeWorkflow(workflow, letGo, "a person let one of its runs go")
	}
}

func (s *Room) writeWorkflow(workflow, what, why string) {
	s.write(store.Switch{Kind: store.SwitchWorkflow, Name: store.CrashName(workflow, s.config.Build), Request: what + ident.NewToken(), Why: why})
}

// write makes an entry durable, and applies it here.
func (s *Room) write(w store.Switch) {
	c := &s.config
	w.Group, w.By = c.Name, c.Node
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

// buildOfNode returns the build of a node or worker that is gone, "" if it is not known.
func (s *Room) buildOfNode(id string) (build string) {
	c := &s.config
	err := c.Watch.Persist(c.Context, "reading the nodes of the group", func() error {
		nodes, err := c.Store.Nodes(c.Context)
		for _, n := range nodes {
			if n.ID == id {
				build = n.Build
			}
		}
		if err != nil || build != "" {
			return err
		}
		workers, err := c.Store.Workers(c.Context)
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
