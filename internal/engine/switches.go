package engine

import (
	"context"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/store"
)

// switches are the switches of the group, as this node has read them.
type switches struct {
	placement.Switches
	engine *Engine
	kick   clock.Bell
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
	paused := s.Paused()
	return paused, e.suspicion.HeldAnywhere(ctx, phase != client, paused)
}

// follow reads switches when notified.
func (s *switches) follow() {
	e := s.engine
	e.inbox.keepLooking(s.kick, nil, func() error {
		return e.db.reads.Persist(e.life.ctx, "reading switches", func() error { return s.read(e.life.ctx) })
	})
}

// read reads new entries of the log. If an activity is resumed, its calls continue.
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
	for name := range s.Paused() {
		off[name] = true
	}
	e.suspicion.HeldHere(off)
	e.dispatcher.slots.SwitchOff(off)
	if e.life.phase != running {
		return nil
	}
	released = released || letGo
	if released || ask {
		e.dispatcher.serveAgain()
	}
	if released {
		open := e.locations.open()
		e.life.work.Go(func() { e.locations.reviewHeld(open) }) // of a workflow that was held
		if e.queues.server != nil {
			e.queues.server.Wake()
		}
	}
	return nil
}
