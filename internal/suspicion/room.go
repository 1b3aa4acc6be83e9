package suspicion

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/store"
)

// Config configures a Room.
type Config struct {
	placement.Config
	Node        string // this process
	Clock       *clock.Clock
	Log         *logs.Log
	Slots       *dispatch.Slots
	Commit      func(store.Turn) error
	OnProbation func() bool            // an attempt runs in the probation lane
	Go          func(func())           // runs a goroutine that the engine waits for
	Granted     func([]dispatch.Grant) // delivers slots
	Reread      func(context.Context) error
}

// Room is what this node knows of what may kill a process. It is safe for concurrent use.
type Room struct {
	config Config

	mu      sync.Mutex
	begun   time.Time // when the node began to serve; zero while it does not
	deaths  deaths
	tried   map[*trials]bool // in progress, of all locations
	workers workers
}

// New returns a Room that has read nothing yet.
func New(c Config) *Room {
	return &Room{config: c, deaths: deaths{}, tried: map[*trials]bool{}, workers: workers{seen: map[string]bool{}, lost: map[code]time.Time{}}}
}

// Begin says that the node serves from now on, and End that it starts nothing new.
func (s *Room) Begin(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = now
	s.spread()
}

// End undoes Begin.
func (s *Room) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = time.Time{}
}

// Add applies entries of the log of switches. It reports whether they let an activity go, and
// whether calls that were held back may ask for slots again.
func (s *Room) Add(log []store.Switch) (released, ask bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range log {
		released = s.deaths.add(w) || released
	}
	return released, s.spread()
}

// hereIs names code on this node's build, and here returns what is known of it.
func (s *Room) hereIs(kind, name string) code      { return code{kind, name, s.config.Build} }
func (s *Room) here(kind, name string) (of Deaths) { return s.deaths[s.hereIs(kind, name)] }

// Workflow returns what is known of a workflow on this node's build.
func (s *Room) Workflow(name string) Deaths {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.here(store.SwitchWorkflow, name)
}

// HeldHere adds to off the activities and inline steps that are held on this node's build.
func (s *Room) HeldHere(off map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, of := range s.deaths {
		if key.kind == store.SwitchCrash && key.build == s.config.Build && of.Held != nil {
			off[key.name] = true
		}
	}
}

// HeldAnywhere adds the activities that are held on builds that are in use to the paused ones.
// A client, which serves nothing, asks which builds are.
func (s *Room) HeldAnywhere(ctx context.Context, serves bool, paused map[string]store.Switch) error {
	s.mu.Lock()
	all := maps.Clone(s.deaths)
	s.mu.Unlock()
	maps.DeleteFunc(all, func(key code, of Deaths) bool { return of.Held == nil || key.kind != store.SwitchCrash })
	if len(all) == 0 {
		return nil
	}
	live := map[string]bool{s.config.Build: serves}
	processes, err := s.processes(ctx)
	if err != nil {
		return err
	}
	for _, p := range processes {
		live[p.build] = live[p.build] || p.live
	}
	for key, of := range all {
		if _, off := paused[key.name]; live[key.build] && !off {
			off := *of.Held
			off.Name, off.By = key.name, "" // no person did that
			paused[key.name] = off
		}
	}
	return nil
}

// Doubted reports whether workers of this build died with calls of an activity in a queue, so
// that they are tried one at a time, how many were alone at that, and whether the next one may
// be tried.
func (s *Room) Doubted(activity string) (deaths int, is, try bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.here(store.SwitchCrash, activity)
	return of.Deaths(), of.doubted(s.config.Clock.Now()), !time.Now().Before(s.begun.Add(of.Patience()))
}

// spread tells the slots which activities are to be tried last, and how late, and the trials
// which workflows are doubted. It reports whether calls may ask for slots again; see
// dispatch.Slots.Blame.
func (s *Room) spread() bool {
	for t := range s.tried {
		t.book.Alone(s.alone(store.SwitchWorkflow))
	}
	blame := map[string]dispatch.Blame{}
	for name, deaths := range s.alone(store.SwitchCrash) {
		of := s.here(store.SwitchCrash, name)
		until := s.begun.Add(of.Patience())
		blame[name] = dispatch.Blame{Deaths: deaths, Until: until}
		if wait := time.Until(until); wait > 0 && !s.begun.IsZero() {
			time.AfterFunc(wait, func() { s.config.Granted(s.config.Slots.Serve()) })
		}
	}
	return s.config.Slots.Blame(blame)
}

// alone returns how many calls or runs of code of a kind were alone at deaths on this node's
// build, by name, unless it is held.
func (s *Room) alone(kind string) map[string]int {
	all := map[string]int{}
	for key, of := range s.deaths {
		if key == s.hereIs(kind, key.name) && of.Held == nil && !of.old(s.config.Clock.Now()) {
			all[key.name] = of.Deaths()
		}
	}
	return all
}
