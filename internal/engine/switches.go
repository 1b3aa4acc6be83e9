package engine

import (
	"context"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
)

// switches are the switches of the group, as far as this node has read them. They are guarded
// by the engine's mu.
type switches struct {
	read   int64                      // number of the last entry read
	latest map[switchKey]store.Switch // the last entry of each thing
	crashes
}

type switchKey struct{ kind, name string }

// offOn returns the activities and inline steps of which no attempt starts on a build: they are
// paused in the group, or held on that build.
func (s *switches) offOn(build string) map[string]bool {
	off := map[string]bool{}
	for key, w := range s.latest {
		if key.kind == store.SwitchActivity && w.Off {
			off[key.name] = true
		}
	}
	for key, of := range s.crashes {
		if key.kind == store.SwitchCrash && key.build == build && of.held != nil {
			off[key.name] = true
		}
	}
	return off
}

// add applies entries of the log, and reports whether something was switched on again.
func (s *switches) add(log []store.Switch) (released bool) {
	if s.latest == nil {
		s.latest, s.crashes = map[switchKey]store.Switch{}, crashes{}
	}
	for _, w := range log {
		if w.Number <= s.read {
			continue
		}
		s.read = w.Number
		key := switchKey{w.Kind, w.Name}
		letGo := s.crashes.add(w)
		released = released || letGo || s.latest[key].Off && !w.Off
		s.latest[key] = w
	}
	return released
}

// pausedActivities returns the switches that pause activities, by name of the activity.
func (e *Engine) pausedActivities(ctx context.Context) (map[string]store.Switch, error) {
	if e.currentPhase() == client { // a client gets no notifications of switches
		if err := e.readSwitches(ctx); err != nil {
			return nil, err
		}
	}
	e.mu.Lock()
	paused := map[string]store.Switch{}
	for key, w := range e.switches.latest {
		if key.kind == store.SwitchActivity && w.Off {
			paused[key.name] = w
		}
	}
	e.mu.Unlock()
	return paused, e.heldActivities(ctx, paused)
}

// switchLoop reads switches when notified.
func (e *Engine) switchLoop() {
	e.keepLooking(e.switchKick, nil, func() error {
		return e.persist("reading switches", func() error { return e.readSwitches(e.ctx) })
	})
}

// readSwitches reads new entries of the log. If an activity is resumed, its calls continue.
func (e *Engine) readSwitches(ctx context.Context) error {
	e.mu.Lock()
	after := e.switches.read
	e.mu.Unlock()
	log, err := e.db.Switches(ctx, e.config.Group, after)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	released := e.switches.add(log)
	e.canary.Store(e.switches.canary())
	e.slots.SwitchOff(e.switches.offOn(e.config.Build))
	e.spreadBlame()
	if released && e.phase == running {
		e.serveAgain()
		open := e.open()
		e.work.Go(func() { e.reviewHeld(open) }) // of a workflow that was held
		if e.server != nil {
			e.server.Wake()
		}
	}
	return nil
}

// stopped reports whether a call's activity is switched off. If it is, the run is
// notified when the activity is resumed.
func (e *Engine) stopped(r *activeRun, c *core.Call) bool {
	return r.seats.Stopped(r.code(c))
}
