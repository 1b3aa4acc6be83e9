package core

import (
	"slices"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// A call with gates runs its attempts only while it holds all of them. It asks for them one
// by one, in the order of their names, by messages to the gates' owners; the grants come
// back as messages. When the next gate makes it wait, it gives back what it holds; see
// collect. The turn that ends an attempt also sends the messages about that to the gates,
// so that both are durable or neither.

// atGate is the state of a call at one of its gates. The call has a ticket there, with a
// number among the call's tickets at this gate.
type atGate struct {
	State  gateState `json:"state,omitempty"`
	Ticket int       `json:"ticket,omitempty"`
	// Judged says that this gate's budget allowed the attempt after the undecided one. The
	// gate may repeat that.
	Judged bool `json:"judged,omitempty"`
	// Returns is how often the ticket's slot was given back unused.
	Returns int `json:"returns,omitempty"`
	// Probe says that this gate granted the attempt as the probe of its breaker, which makes
	// calls wait.
	Probe bool `json:"probe,omitempty"`
}

// HasGates reports whether attempts of the call pass gates.
func (p *Progress) HasGates() bool { return len(p.AtGates) > 0 }

func (p atGate) holds() bool { return p.State == held }
func (p atGate) waits() bool { return p.State == asked }

// becomes changes the state; a grant is over with its attempt.
func (p *atGate) becomes(s gateState) { p.State, p.Probe = s, false }

// probes reports whether the attempt in flight is the probe of a breaker that makes calls wait.
func (c *Call) probes() bool {
	return slices.ContainsFunc(c.AtGates, func(p atGate) bool { return p.Probe })
}

type gateState string

const (
	noTicket gateState = ""       // no ticket
	asked    gateState = "asked"  // the gate will say when the coming attempt may start
	held     gateState = "held"   // the gate granted the current or coming attempt
	resting  gateState = "behind" // the ticket keeps its place and rests until it is asked for again
)

// undecided is a failed attempt while a gate's budget has yet to say whether another one
// may follow.
type undecided struct {
	Outcome Outcome          `json:"outcome"`
	Failure *history.Failure `json:"failure,omitempty"`
	Ended   int64            `json:"ended"`
	Judges  int              `json:"judges"` // number of gates that have not answered
}

// holdsGates reports whether a call holds all of its gates.
func (c *Call) holdsGates() bool {
	return !slices.ContainsFunc(c.AtGates, func(p atGate) bool { return !p.holds() })
}

// coming returns the number of the attempt for which the call asks gates.
func (c *Call) coming() int {
	if c.Undecided != nil {
		return c.attempt + 1
	}
	return c.attempt
}

// askNextGate asks for the next gate that the coming attempt needs and reports whether the
// call has to wait.
//
// It asks for none while calls of this kind cannot start, because an operator paused the
// activity or this node lacks its code: the grant would be kept from other calls.
func (g *gating) askNextGate(c *Call) bool {
	if len(c.AtGates) > 0 && (g.stopped(c) || !g.served(c)) {
		g.leaveGates(c, gates.Neutral)
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
		g.askGate(c, i)
	}
	g.awaitGate(c)
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

// askGatesNow tells the gates that the coming attempt does not wait for the end of its
// backoff.
func (g *gating) askGatesNow(c *Call) {
	for i := range c.AtGates {
		if c.AtGates[i].State == asked {
			g.askGate(c, i)
		}
	}
}

func (g *gating) askGate(c *Call, i int) {
	c.AtGates[i].becomes(asked)
	m := g.toGate(c, i, GateEnter, c.attempt)
	m.Priority, m.Spec, m.Once = c.Priority, &c.Gates[i], c.Policy.AttemptLimit() == 1
	if i > 0 {
		m.Came = c.QueuedAt
	}
	g.journal.out.Gates = append(g.journal.out.Gates, m)
}

// awaitGate makes a call wait for a gate. It holds no slot, and its queue time runs.
func (g *gating) awaitGate(c *Call) {
	g.calls.setState(c, Gated)
	g.calls.collect(c, g.journal.now)
	c.due = c.gatedDue()
	g.calls.watch(c)
	g.calls.touch(c)
}

func (g *gating) toGate(c *Call, i int, word GateWord, attempt int) ToGate {
	return ToGate{
		Gate: c.Gates[i].Name, Word: word, Attempt: attempt, Returns: c.AtGates[i].Returns,
		Ticket: TicketKey{Workflow: g.journal.start.WorkflowID, Run: g.journal.start.Run, Call: c.Number, Ticket: c.AtGates[i].Ticket},
	}
}

// backOffAtGates tells the gates that an attempt has ended and the next one is due at
// until. The first gate grants the next attempt by itself at that time, and so do later
// gates if all before them keep their slot. After a gate that is given up, a ticket keeps
// its place but rests without a slot until the call asks again: calls that hold a gate
// while they wait for one with a smaller name could deadlock. With judge, gates that have a
// budget answer whether it allows the next attempt.
func (g *gating) backOffAtGates(c *Call, outcome gates.Outcome, until int64, judge bool) (judges int) {
	inOrder := true
	for i := range c.AtGates {
		p := &c.AtGates[i]
		if p.State != held {
			continue // ended without having run
		}
		m := g.toGate(c, i, GateBackoff, c.attempt)
		m.Outcome, m.Until = outcome, until
		p.becomes(asked)
		if !inOrder {
			m.Until, m.Yield = Never, true
			p.becomes(resting)
		}
		if judge && budgeted(c.Gates[i]) {
			m.Judge, p.Judged = true, false
			judges++
		}
		g.journal.out.Gates = append(g.journal.out.Gates, m)
		inOrder = inOrder && keeps(c.Gates[i], until-g.journal.now)
	}
	return judges
}

// leaveAllGates gives up the gates of a call that is closed or waits for an operator.
func (g *gating) leaveAllGates(c *Call) {
	if g.journal.out != nil {
		g.abandonVerdict(c)
		g.leaveGates(c, c.verdict)
	}
}

// leaveGates gives up everything that a call has at its gates.
func (g *gating) leaveGates(c *Call, outcome gates.Outcome) {
	c.Collecting = 0
	for i := range c.AtGates {
		p := &c.AtGates[i]
		if p.State == noTicket {
			continue
		}
		m := g.toGate(c, i, GateDone, c.attempt)
		if m.Outcome = outcome; outcome == "" {
			m.Outcome = gates.Neutral
		}
		p.becomes(noTicket)
		g.journal.out.Gates = append(g.journal.out.Gates, m)
		g.calls.touch(c)
	}
}

// keeps reports whether a gate's slot is kept through a backoff of this length.
func keeps(g gates.Spec, delay int64) bool {
	return g.Mode == gates.Hold && (g.MaxHold == 0 || delay <= int64(g.MaxHold))
}

func budgeted(g gates.Spec) bool { return g.Budget != (gates.Budget{}) }

// fromGate handles a message from a gate. It declines a grant for a ticket that the call no
// longer has, so that the gate keeps no slot for it.
func (a *attempts) fromGate(in FromGate) {
	c := a.calls.byNumber[in.Ticket.Call]
	i := -1
	if c != nil {
		i = slices.IndexFunc(c.Gates, func(g gates.Spec) bool { return g.Name == in.Gate })
	}
	if i < 0 || c.AtGates[i].Ticket != in.Ticket.Ticket || c.AtGates[i].State == noTicket {
		a.gating.decline(in)
		return
	}
	switch {
	case in.Word == GateAllowed:
		a.judged(c, i, in, false)
	case in.Word == GateRefused && in.Reason == retry.ReasonBudget:
		a.judged(c, i, in, true)
	case c.AtGates[i].State != asked || in.Attempt != c.coming():
		a.journal.out.Dropped++ // a repeat
	case in.Word == GateRefused:
		a.refused(c, i)
	case in.Word == GateGranted && in.Returns != c.AtGates[i].Returns:
		a.journal.out.Dropped++ // a grant of a slot that was given back
	case in.Word == GateGranted:
		c.AtGates[i].State, c.AtGates[i].Probe = held, in.Probe
		a.calls.touch(c)
		a.proceed(c)
	}
}

// decline returns an unwanted ticket.
func (g *gating) decline(in FromGate) {
	g.journal.out.Dropped++
	if answer, ok := in.Decline(); ok {
		g.journal.out.Gates = append(g.journal.out.Gates, answer)
	}
}

// proceed continues a call that waits for no further gate. An inline step whose code is
// missing gives its gates up, because getting the code may take long.
func (a *attempts) proceed(c *Call) {
	if c.state != Gated || c.Undecided != nil {
		return
	}
	if c.Step() && a.journal.program == nil {
		a.gating.leaveGates(c, gates.Neutral)
		return
	}
	a.enterGates(c)
}

// askGatesAgain makes calls that left their gates because they could not run ask again.
func (a *attempts) askGatesAgain() {
	for _, n := range a.calls.openNumbers() {
		if c := a.calls.byNumber[n]; c.state == Gated && c.Undecided == nil && (a.journal.program != nil || !c.Step()) {
			a.gating.askNextGate(c)
		}
	}
}

// refused closes a call whose gate refuses it. The coming attempt does not start and is not
// charged; the ledger records the refusal.
func (a *attempts) refused(c *Call, i int) {
	c.AtGates[i].becomes(noTicket) // its ticket is gone
	if u := c.Undecided; u != nil {
		c.Undecided = nil
		d := a.judgement(c, u.Failure, u.Ended, false)
		a.ledger.recordDecision(c, u.Outcome, u.Failure, d, u.Ended, nextOf(d))
		c.attempt++
	}
	refusal := &retry.RefusedError{Gate: c.Gates[i].Name, Reason: retry.ReasonBreaker}
	if c.Last != nil {
		refusal.Last = c.Last.Err()
	}
	f := history.FromError(refusal)
	a.ledger.recordRefusal(c, f)
	c.attempt--
	c.verdict = gates.Neutral
	a.closeFailed(c, retry.ReasonBreaker, c.Policy.AttemptLimit(), f, a.journal.now)
}

// judged handles a budget's verdict. The first denial decides, or the last of the expected
// verdicts. A gate that got a budget only after the call asked may deny although it was not
// asked: the decision stands, and the call enters that gate again.
func (a *attempts) judged(c *Call, i int, in FromGate, denied bool) {
	u := c.Undecided
	if denied {
		c.AtGates[i].becomes(noTicket) // its ticket is gone
		a.calls.touch(c)
	}
	switch {
	case u == nil && denied:
		a.proceed(c)
	case u == nil || in.Attempt != c.attempt || c.AtGates[i].Judged:
		a.journal.out.Dropped++
	case denied || u.Judges == 1:
		a.decide(c, denied)
	default:
		c.AtGates[i].Judged = true
		u.Judges--
		a.calls.touch(c)
	}
}

// decide asks the policy about the attempt that waited for a verdict, as of the time of its
// failure.
func (a *attempts) decide(c *Call, denied bool) {
	u := c.Undecided
	c.Undecided = nil
	d := a.judgement(c, u.Failure, u.Ended, denied)
	a.ledger.recordDecision(c, u.Outcome, u.Failure, d, u.Ended, nextOf(d))
	a.follow(c, d, u.Failure, u.Ended)
}

// abandonVerdict records an attempt whose call no longer waits for the verdict.
func (g *gating) abandonVerdict(c *Call) {
	if u := c.Undecided; u != nil {
		c.Undecided = nil
		g.ledger.record(c, u.Outcome, u.Failure, string(retry.ReasonCanceled), u.Ended)
	}
}
