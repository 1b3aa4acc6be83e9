package core

import (
	"slices"
	"time"

	"github.com/perdure/perdure/internal/gates"
)

// A slot of one gate must not lie idle while its holder waits for another gate. A call
// therefore keeps the slots of several gates only for a moment, in case the next gate
// grants promptly. Then it gives all of them back, keeps its places in line, and waits for
// the next gate alone. When that gate grants, the call asks the others again. See
// gates.Patience for why no call waits for ever.

// Patience is how long a slot is kept at first: longer than messages take between nodes.
const Patience = 500 * time.Millisecond

// collect notes since when a call holds some of its gates and waits for others.
func (t *callTable) collect(c *Call, since int64) {
	switch {
	case !slices.ContainsFunc(c.AtGates, atGate.holds):
		c.Collecting = 0
	case c.Collecting == 0:
		c.Collecting = since
	}
}

// gatedDue returns when a call that waits for a gate has to act: give back what it holds,
// or give up.
func (c *Call) gatedDue() int64 {
	due := c.queueDue()
	if back := c.givesBack(); back != 0 && (due == 0 || back < due) {
		due = back
	}
	return due
}

// givesBack returns when the call gives back what it holds, 0 if it holds nothing.
func (c *Call) givesBack() int64 {
	if c.Collecting == 0 {
		return 0
	}
	return addTime(c.Collecting, gates.Patience(Patience, c.inOrder(), c.Returned))
}

// inOrder reports whether the gates that the call holds come before those it lacks.
func (c *Call) inOrder() bool {
	lacks := slices.IndexFunc(c.AtGates, func(p atGate) bool { return !p.holds() })
	return !slices.ContainsFunc(c.AtGates[lacks:], atGate.holds)
}

// giveBackLate gives back what a call has held for too long, unless the call has to give up
// anyway.
func (g *gating) giveBackLate(c *Call) bool {
	back, end := c.givesBack(), c.queueDue()
	if back == 0 || g.journal.now < back || end != 0 && end <= g.journal.now {
		return false
	}
	if c.inOrder() {
		c.Returned++
	}
	for i := range c.AtGates {
		p := &c.AtGates[i]
		if !p.holds() {
			continue
		}
		g.journal.out.Gates = append(g.journal.out.Gates, g.toGate(c, i, GateReturn, c.attempt))
		p.becomes(resting)
		p.Returns++
	}
	g.awaitGate(c)
	return true
}
