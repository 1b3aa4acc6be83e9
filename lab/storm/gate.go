package storm

import (
	"cmp"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/retry"
)

// entrance is a gate in one experiment.
type entrance struct {
	w       *world
	machine *gates.Machine[int32]
	tick    time.Duration // the earliest one that is planned and not over, 0 if none
}

// openGate opens the gate of the scenario; without one all enter at once.
func (w *world) openGate() error {
	if w.Gate == nil {
		return nil
	}
	declared := *w.Gate
	declared.Mode = cmp.Or(declared.Mode, gate.Hold)
	machine, err := gates.New[int32](declared)
	if err != nil {
		return err
	}
	w.gate = &entrance{w: w, machine: machine}
	return nil
}

// clock is the time as the machine knows it.
func (g *entrance) clock() int64 { return epoch.Add(g.w.now).UnixNano() }

// enter asks for an attempt.
func (g *entrance) enter(c call) {
	g.act(g.machine.Enter(g.clock(), gates.Ask[int32]{Key: c.task, Attempt: int(c.attempt), Once: g.w.Policy.AttemptLimit() == 1}))
}

// retry says that an attempt has failed and when the next one is due. It reports whether the budget allows that; the gate sees to the rest.
func (g *entrance) retry(c call, d retry.Decision) bool {
	now := g.clock()
	until := now + int64(min(d.Delay, time.Duration(gates.Never-now)))
	outcome := gates.Failure
	if d.Reason == retry.ReasonProbe {
		outcome = gates.FailedProbe
	}
	step := g.machine.Backoff(now, c.task, int(c.attempt), outcome, until)
	allowed := true
	for _, r := range step.Refused {
		allowed = allowed && !(r.Key == c.task && r.Reason == retry.ReasonBudget)
	}
	g.act(step)
	return allowed
}

// done says that a task has ended, and why.
func (g *entrance) done(task int32, reason retry.Reason) { g.leave(task, gates.OutcomeOf(reason)) }

// leave withdraws a task.
func (g *entrance) leave(task int32, outcome gates.Outcome) {
	g.act(g.machine.Done(g.clock(), task, outcome))
}

// wake tells the machine what time it is.
func (g *entrance) wake() {
	if g.w.now >= g.tick {
		g.tick = 0
	}
	g.act(g.machine.Tick(g.clock()))
}

// act does what follows from a step, and sees to the next tick.
func (g *entrance) act(step *gates.Step[int32]) {
	for _, grant := range step.Granted {
		g.w.tasks[grant.Key].probe = grant.Probe
		g.w.start(call{task: grant.Key, attempt: int32(grant.Attempt)})
	}
	for _, r := range step.Refused {
		// Over budget the task that asks is told by the answer of retry.
		if r.Reason != retry.ReasonBudget {
			g.w.settle(&g.w.tasks[r.Key], r.Reason)
		}
	}
	next, ok := g.machine.Next()
	if !ok {
		return
	}
	at := time.Duration(next - epoch.UnixNano())
	if (g.tick == 0 || at < g.tick) && at <= g.w.until() {
		g.tick = at
		g.w.plan(event{at: max(at, g.w.now), kind: eventTick})
	}
}
