package engine

import (
	"errors"
	"fmt"
)

// health is what is wrong with an engine right now, guarded by the engine's mu.
type health struct {
	unserved   map[string]struct{} // activities that are called but not registered
	stuckTurns int                 // turns of workflow code that never ended

	overwhelmed bool // there were too many turns that never ended: it drains
}

// Health reports what keeps the engine from doing its work; nil if nothing does.
func (e *Engine) Health() error {
	if e == None {
		return errNone
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	if e.phase == stopped {
		errs = append(errs, ErrStopped)
	}
	errs = append(errs, e.member.Health())
	errs = append(errs, e.outages.current()...)
	for name := range e.health.unserved {
		errs = append(errs, fmt.Errorf("activity %q is called by workflows but not registered with this engine; its calls wait in the queue: register it and start again", name))
	}
	if n := e.health.stuckTurns; n > 0 {
		errs = append(errs, fmt.Errorf("%d turns of workflow code never ended; their goroutines are lost until the process ends", n))
	}
	if e.health.overwhelmed {
		errs = append(errs, fmt.Errorf("the turns of workflow code that never ended were more than %d, so this engine starts nothing new and gives its work to others: restart its process", e.config.MaxAbandoned))
	}
	errs = append(errs, e.attempts.Health())
	return errors.Join(errs...)
}

// abandon counts a turn of workflow code that never ended. Its goroutine is lost, and
// with too many of them the process is worth nothing: it drains. That is for good,
// also if some come back, because a process that had so many will have more. The
// engine's mu is held.
func (e *Engine) abandon() {
	e.health.stuckTurns++
	if e.health.stuckTurns <= e.config.MaxAbandoned || e.phase != running {
		return
	}
	e.health.overwhelmed = true
	e.drain()
	e.member.Kick()
	e.log.Overwhelmed(e.health.stuckTurns, e.config.MaxAbandoned)
}

// unservedActivity notes a call of an activity that this engine cannot run.
func (e *Engine) unservedActivity(name string) {
	if e.health.unserved == nil {
		e.health.unserved = map[string]struct{}{}
	}
	if _, known := e.health.unserved[name]; known {
		return
	}
	e.health.unserved[name] = struct{}{}
	e.log.ActivityMissing(name)
}
