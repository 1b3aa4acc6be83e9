package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
)

// A call with gates runs its attempts only while it holds all of them. It asks for them one
// by one, in the order of their names, by messages to the gates' owners; the grants come
// back as messages. When the next gate makes it wait, it gives back what it holds; see
// collect. The turn that ends an attempt also sends the messages about that to the gates,
// so that both are durable or neither.

// askNext asks for the next gate that the coming attempt needs and reports whether the
// call has to wait.
//
// It asks for none while calls of this kind cannot start, because an operator paused the
// activity or this node lacks its code: the grant would be kept from other calls.
func (g *gating) askNext(c *Call) bool {
	if len(c.AtGates) > 0 && (g.stopped(c) || !g.served(c)) {
		g.leave(c, gates.Neutral)
		g.calls.enqueue(c)
		g.calls.noteLack(c, g.lacks(c))
		return true
	}
	if c.holdsGates() {
		return false
	}
	if !slices.ContainsFunc(c.AtGates, atGate.waits) {
		i := slices.IndexFunc(c.AtGates, func(p atGate) bool { return !p.holds() })
		if p := &c.AtGates[i]; p.State == noTicket {
			p.Ticket, p.Returns = p.Ticket+1, 0
		}
		g.ask(c, i)
	}
	g.await(c)
	return true
}

// lacks returns why attempts of the call cannot start here, or "".
func (g *gating) lacks(c *Call) string {
	if g.journal.config.Lacks == nil {
		return ""
	}
	return g.journal.config.Lacks(c)
}

// served reports whether attempts of the call can start here.
func (g *gating) served(c *Call) bool { return g.lacks(c) == "" }

// askNow tells the gates that the coming attempt does not wait for the end of its
// backoff.
func (g *gating) askNow(c *Call) {
	for i := range c.AtGates {
		if c.AtGates[i].State == asked {
			g.ask(c, i)
		}
	}
}

func (g *gating) ask(c *Call, i int) {
	c.AtGates[i].becomes(asked)
	m := g.toGate(c, i, GateEnter, c.attempt)
	m.Priority, m.Spec, m.Once, m.Retry = c.Priority, &c.Gates[i], c.Policy.AttemptLimit() == 1, c.Owing
	m.RunKey, m.Weight = g.journal.start.Key, g.journal.start.Weight
	if i > 0 {
		m.Came = c.QueuedAt
	}
	g.journal.out.Gates = append(g.journal.out.Gates, m)
}

// await makes a call wait for a gate. It holds no slot, and its queue time runs.
func (g *gating) await(c *Call) {
	g.calls.setState(c, Gated)
	if !slices.ContainsFunc(c.AtGates, atGate.holds) {
		c.Collecting = 0
	} else if c.Collecting == 0 {
		c.Collecting = g.journal.now
	}
	g.calls.await(c, c.gatedDue())
}

func (g *gating) toGate(c *Call, i int, word GateWord, attempt int) ToGate {
	return ToGate{
		Gate: c.Gates[i].Name, Word: word, Attempt: attempt, Returns: c.AtGates[i].Returns,
		Ticket: TicketKey{Workflow: g.journal.start.WorkflowID, Run: g.journal.start.Run, Call: c.Number, Ticket: c.AtGates[i].Ticket},
	}
}

// backOff tells the gates that an attempt has ended and the next one is due at
// until. The first gate grants the next attempt by itself at that time, and so do later
// gates if all before them keep their slot. After a gate that is given up, a ticket keeps
// its place but rests without a slot until the call asks again: calls that hold a gate
// while they wait for one with a smaller name could deadlock. With judge, gates that have a
// budget answer whether it allows the next attempt.
func (g *gating) backOff(c *Call, outcome gates.Outcome, until int64, judge bool) (judges int) {
	inOrder := true
	for i := range c.AtGates {
		p := &c.AtGates[i]
		if p.State != held {
			continue // ended without having run
		}
		m := g.toGate(c, i, GateBackoff, c.attempt)
		m.Outcome, m.Until = cmp.Or(outcome, gates.Neutral), until
		p.becomes(asked)
		if !inOrder {
			m.Until, m.Yield = Never, true
			p.becomes(resting)
		}
		if judge && c.Gates[i].Budget != (spec.Budget{}) {
			m.Judge, p.Judged = true, false
			judges++
		}
		g.journal.out.Gates = append(g.journal.out.Gates, m)
		inOrder = inOrder && keeps(c.Gates[i], until-g.journal.now)
	}
	return judges
}

// leave gives up everything that a call has at its gates.
func (g *gating) leave(c *Call, outcome gates.Outcome) {
	c.Collecting = 0
	for i := range c.AtGates {
		p := &c.AtGates[i]
		if p.State == noTicket {
			continue
		}
		m := g.toGate(c, i, GateDone, c.attempt)
		m.Outcome = cmp.Or(outcome, gates.Neutral)
		p.becomes(noTicket)
		g.journal.out.Gates = append(g.journal.out.Gates, m)
		g.calls.touch(c)
	}
}

// keeps reports whether a gate's slot is kept through a backoff of this length.
func keeps(g history.GateSpec, delay int64) bool {
	return g.Mode == spec.Hold && (g.MaxHold == 0 || delay <= int64(g.MaxHold))
}

// decline returns an unwanted ticket.
func (g *gating) decline(in FromGate) {
	g.journal.out.Dropped++
	if answer, ok := in.Decline(); ok {
		g.journal.out.Gates = append(g.journal.out.Gates, answer)
	}
}

func (g *gating) stopped(c *Call) bool {
	return g.journal.config.Stopped != nil && g.journal.config.Stopped(c)
}

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
