package engine

import (
	"context"

	"github.com/perdure/perdure/store"
)

// pausedActivities returns the switches that pause activities, by name of the activity.
func (e *Engine) pausedActivities(ctx context.Context) (map[string]store.Switch, error) {
	phase := e.currentPhase()
	if phase == client { // a client gets no notifications of switches
		if err := e.readSwitches(ctx); err != nil {
			return nil, err
		}
	}
	paused := e.switches.Paused()
	return paused, e.suspicion.HeldAnywhere(ctx, phase != client, paused)
}

// switchLoop reads switches when notified.
func (e *Engine) switchLoop() {
	e.inbox.keepLooking(e.switchKick, nil, func() error {
		return e.reads.Persist(e.ctx, "reading switches", func() error { return e.readSwitches(e.ctx) })
	})
}

// readSwitches reads new entries of the log. If an activity is resumed, its calls continue.
func (e *Engine) readSwitches(ctx context.Context) error {
	log, err := e.db.Switches(ctx, e.config.Group, e.switches.Read())
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	fresh, released := e.switches.Add(log)
	letGo, ask := e.suspicion.Add(fresh)
	e.nodes.SetCanary(e.switches.Canary())
	off := map[string]bool{}
	for name := range e.switches.Paused() {
		off[name] = true
	}
	e.suspicion.HeldHere(off)
	e.dispatcher.slots.SwitchOff(off)
	if e.phase != running {
		return nil
	}
	released = released || letGo
	if released || ask {
		e.dispatcher.serveAgain()
	}
	if released {
		open := e.locations.open()
		e.work.Go(func() { e.locations.reviewHeld(open) }) // of a workflow that was held
		if e.queues.server != nil {
			e.queues.server.Wake()
		}
	}
	return nil
}
