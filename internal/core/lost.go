package core

import (
	"slices"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/retry"
)

// takenOver marks the attempts in flight as lost, except those still alive (E3).
func (a *attempts) takenOver(in TakenOver) {
	for _, n := range a.calls.openNumbers() {
		c := a.calls.byNumber[n]
		if c.state == Dispatched && !slices.Contains(in.Alive, AttemptRef{c.Number, c.attempt}) {
			a.lost(c, in)
		} else if c.Untold { // its process may have died before it called the hook
			a.calls.tellWaiting(c)
		}
	}
	a.askGatesAgain()
}

func crashLimit(p *retry.Policy) int {
	return p.WithDefaults().CrashLimit
}

// lost records the loss of an attempt whose node no longer owns the run. The loss counts
// against the call only if the node died while it ran the attempt alone in the probation
// lane, and only as long as the node is not known to have survived. CrashLimit 1 means that
// the call must not run again after any loss. Most processes die of something else, so a
// call is on probation only from its second loss within suspects.Window on.
//
// An attempt that is on record ahead of its time is lost too, and the next one is due at
// the same time: the old node may not know yet that it lost the run, and begin the attempt.
// Such a loss does not count against the call.
func (a *attempts) lost(c *Call, in TakenOver) {
	early := c.StartedAt > a.journal.now
	c.Losses++
	survived := slices.Contains(in.Survivors, c.Node)
	alone := c.OnProbation && !early && suspects.Alone(c.Group) && !slices.Contains(in.Excused, c.Node)
	if alone {
		c.Group = 1
		c.CrashedOn = append(c.CrashedOn, c.Node)
	}
	c.CrashedOn = slices.DeleteFunc(c.CrashedOn, func(node string) bool { return slices.Contains(in.Survivors, node) })
	limit := crashLimit(c.Policy)
	if !survived && alone {
		a.journal.out.Crashed = append(a.journal.out.Crashed, Crash{AttemptRef{c.Number, c.attempt}, c.Name, c.Step(), c.Node, limit})
	}
	quarantine := len(c.CrashedOn) >= limit || limit == 1
	reason := retry.ReasonWorkerLost
	switch {
	case quarantine:
		reason = retry.ReasonCrashLimit
	case survived:
		reason = retry.ReasonLeaseLost
	case slices.Contains(in.Unheard, c.Node):
		reason = retry.ReasonLeaseExpired
	}
	a.ledger.record(c, Lost, nil, string(reason), max(a.journal.now, c.StartedAt))
	switch {
	case a.isCanceled(c):
		a.closeCanceled(c, a.journal.now)
	case quarantine:
		c.attempt++
		a.quarantine(c)
	case early:
		a.gating.backOffAtGates(c, gates.Neutral, c.StartedAt, false)
		c.attempt++
		a.backOff(c)
	default:
		a.gating.backOffAtGates(c, gates.Neutral, a.journal.now, false)
		c.attempt++
		if survived {
			c.cleared()
		} else {
			c.OnProbation = c.OnProbation || c.LostAt != 0 && a.journal.now-c.LostAt <= int64(suspects.Window)
			c.LostAt = a.journal.now
		}
		a.goOn(c)
	}
}
