package engine

import (
	"context"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/store"
)

// switches are the switches of the group, as this node has read them.
type switches struct {
	placement.Switches
	engine *Engine
	kick   clock.Bell
	ends   int64 // when the first of the pauses ends by itself, 0 for never; under the engine's mu
}

// paused returns the switches that pause activities, by name of the activity.
func (s *switches) paused(ctx context.Context) (map[string]store.Switch, error) {
	e := s.engine
	phase := e.currentPhase()
	if phase == client { // a client gets no notifications of switches
		if err := s.read(ctx); err != nil {
			return nil, err
		}
	}
	paused, _ := s.Paused(e.clock.Now())
	return paused, e.suspicion.HeldAnywhere(ctx, phase != client, paused)
}

// follow reads switches when notified.
func (s *switches) follow() {
	e := s.engine
	watch := clock.Watch{Bell: s.kick, Every: e.config.InboxEvery}
	watch.Run(e.life.ctx, func() error {
		return e.db.reads.Persist(e.life.ctx, "reading switches", func() error { return s.read(e.life.ctx) })
	})
}

// read reads new entries of the log. If an activity is resumed, or its pause has ended, its calls
// continue.
func (s *switches) read(ctx context.Context) error {
	e := s.engine
	log, err := e.db.Switches(ctx, e.config.Group, s.Read())
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	fresh, released := s.Add(log)
	letGo, ask := e.suspicion.Add(fresh)
	e.nodes.SetCanary(s.Canary())
	off := map[string]bool{}
	paused, ends := s.Paused(e.clock.Now())
	for name := range paused {
		off[name] = true
	}
	e.suspicion.HeldHere(off)
	released = e.dispatcher.slots.SwitchOff(off) || released // a pause may have ended by itself
	if s.ends != ends && ends != 0 {
		time.AfterFunc(e.clock.Until(ends), s.kick.Ring)
	}
	s.ends = ends
	if e.life.phase != running {
		return nil
	}
	released = released || letGo
	if released || ask {
		e.dispatcher.serveAgain()
	}
	if released {
		open := e.locations.Open()
		e.life.work.Go(func() { e.locations.reviewHeld(open) }) // of a workflow that was held
		if e.queues.server != nil {
			e.queues.server.Wake()
		}
	}
	return nil
}
