package core

import "time"

// A slot of one gate must not lie idle while its holder waits for another gate. A call
// therefore keeps the slots of several gates only for a moment, in case the next gate
// grants promptly. Then it gives all of them back, keeps its places in line, and waits for
// the next gate alone. When that gate grants, the call asks the others again. See
// gates.Patience for why no call waits for ever.

// Patience is how long a slot is kept at first: longer than messages take between nodes.
const Patience = 500 * time.Millisecond

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
	g.await(c)
	return true
}
