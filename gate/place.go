package gate

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/retry"
)

// place is the place of one call at one gate. Its goroutine asks; any other
// may answer. The reply belongs to the gate's lock.
type place struct {
	gate     *Gate
	priority int
	reply
	signal chan struct{} // there may be a new verdict; buffered, nil before the first wait
	silent bool          // the gate does not learn how the work ends

	// Of the goroutine that asks:
	held    bool // the attempt has a slot of this gate
	returns int  // how often it was given back unused
}

// reply is what became of a place.
type reply struct {
	verdict verdict
	reason  retry.Reason // of a refusal
	probe   bool         // of a grant: a breaker waits for the outcome of the attempt
}

type verdict uint8

const (
	pending verdict = iota
	granted
	refused
)

// wake says what became of the place. The caller has the lock.
func (p *place) wake(v verdict, reason retry.Reason) {
	p.verdict, p.reason = v, reason
	select {
	case p.signal <- struct{}{}:
	default: // it does not wait, or has not looked since the last time
	}
}

// ask asks for an attempt and returns the answer, if there is one immediately.
// A call that came to another gate before says when.
func (p *place) ask(a retry.GateAsk, of runKey, came time.Time) verdict {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if p.verdict == pending {
		ask := gates.Ask[*place]{Key: p, Attempt: a.Attempt, Priority: p.priority, Returns: p.returns, Once: a.Once, Silent: p.silent, RunKey: of.name, Weight: of.weight}
		if !came.IsZero() {
			ask.Came = max(g.at(came), 1)
		}
		g.carryOut(g.machine.Enter(now, ask))
	} else { // since its backoff ended
		g.carryOut(g.machine.Tick(now))
	}
	if p.verdict == pending && p.signal == nil {
		p.signal = make(chan struct{}, 1)
	}
	return p.verdict
}

// What ends a wait.
var (
	errTooLate   = errors.New("the time to wait for a gate is over")
	errImpatient = errors.New("the time to keep other gates meanwhile is over")
)

// await waits for the answer. A grant that comes together with the end of the
// time is a grant; one that comes together with a cancellation is given back by
// the withdrawal of the place.
func (p *place) await(ctx context.Context, tooLate, impatient <-chan time.Time) (verdict, error) {
	for {
		var over error
		select {
		case <-p.signal:
		case <-ctx.Done():
			return pending, ctx.Err()
		case <-tooLate:
			over = errTooLate
		case <-impatient:
			over = errImpatient
		}
		if r := p.look(); r.verdict != pending {
			return r.verdict, nil
		}
		if over != nil {
			return pending, over
		}
	}
}

func (p *place) look() reply {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	return p.reply
}

// backoff says that the attempt has failed, and reports whether the gate's budget
// allows the next one. For an attempt that was not granted, because it waited too
// long, there is no ticket and nothing happens.
func (p *place) backoff(attempt int, outcome gates.Outcome, due time.Time) bool {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	until := gates.Never
	if !due.IsZero() {
		until = g.at(due)
	}
	p.verdict, p.held = pending, false
	g.carryOut(g.machine.Backoff(g.now(), p, attempt, outcome, until))
	// Without a wait the next attempt may have been refused by the breaker already;
	// the call finds that out when it asks for it.
	return p.verdict != refused || p.reason != retry.ReasonBudget
}

// giveBack gives back the slot of an attempt that has not started, and keeps the place.
func (p *place) giveBack(attempt int) {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	p.verdict, p.held = pending, false
	g.carryOut(g.machine.Return(g.now(), p, attempt, p.returns))
	p.returns++
}

// yield gives back a slot that is kept in backoff.
func (p *place) yield() {
	p.gate.do(func(now int64) *gates.Step[*place] { return p.gate.machine.Yield(now, p) })
}

// leave ends the stay at the gate, in whatever state, and reports whether there
// was one.
func (p *place) leave(outcome gates.Outcome) bool {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	_, there := g.machine.Ticket(p)
	g.carryOut(g.machine.Done(g.now(), p, outcome))
	p.verdict, p.reason, p.held = pending, "", false
	return there
}
