package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/retry"
)

// Through makes the attempts of a call of retry.Do pass gates. An attempt starts when it
// has a slot of each gate. It takes them in the order of their names and gives them back
// in reverse order. While it waits for one gate, it keeps the slots of others only
// briefly, at first for 10 ms; then it gives them back, keeps its places in line, and
// waits for that gate alone. In mode Hold a call takes a slot once, before the first
// attempt, and gives it back once, when it has ended; in the other modes once per
// attempt.
//
// An attempt must not call through a gate that it has passed: if such attempts have all
// slots, each waits for the others.
//
// A call that is canceled while it waits returns a *retry.AbortedError with
// retry.PhaseQueue. A call that an open breaker stops returns a *retry.ExhaustedError
// that wraps a *retry.RefusedError. If a gate is misconfigured or given twice, or two
// gates have the same name, the error is a *retry.ConfigError.
func Through(gates ...*Gate) retry.Option { return ThroughAt(0, gates...) }

// ThroughAt is [Through] with a priority: at the gates higher priorities go first.
// Through has priority zero.
func ThroughAt(priority int, gates ...*Gate) retry.Option {
	sorted := slices.Clone(gates)
	slices.SortStableFunc(sorted, func(a, b *Gate) int { return strings.Compare(a.nameOf(), b.nameOf()) })
	return retry.WithGates(func() (retry.Gates, error) {
		c, err := newCall(sorted, priority)
		if err != nil {
			return nil, err // and no nil of its type
		}
		return c, nil
	})
}

// nameOf is Name for a gate that may be nil.
func (g *Gate) nameOf() string {
	if g == nil {
		return ""
	}
	return g.spec.Name
}

// newCall makes the places of one call at gates, which are in the order of their names.
func newCall(gates []*Gate, priority int) (*call, error) {
	if len(gates) == 0 {
		return nil, errors.New("it goes through no gate; name at least one, or leave the option out")
	}
	c := &call{}
	if c.places = c.one[:]; len(gates) > 1 {
		c.places = make([]place, len(gates))
	}
	for i, g := range gates {
		switch {
		case g == nil:
			return nil, errors.New("one of its gates is nil; pass what gate.New returns")
		case g.err != nil:
			return nil, g.err
		case i > 0 && gates[i-1] == g:
			return nil, fmt.Errorf("it names the gate %q twice; leave one out", g.spec.Name)
		case i > 0 && gates[i-1].spec.Name == g.spec.Name:
			return nil, fmt.Errorf("two of its gates have the name %q; names give the order in which gates are taken", g.spec.Name)
		}
		c.places[i] = place{gate: g, priority: priority}
	}
	return c, nil
}

// call is one call at its gates. It implements retry.Gates.
type call struct {
	places []place
	one    [1]place // spares most calls an allocation
	probe  bool     // a breaker waits for the outcome of the attempt
}

// Enter takes a slot of each gate.
func (c *call) Enter(ctx context.Context, a retry.GateAsk) (probe bool, err error) {
	c.probe = false
	w := wait{call: c, attempt: a.Attempt, timeout: a.Timeout}
	defer w.end()
	for i := w.next(-1); i >= 0; {
		pl := &c.places[i]
		answer := pl.ask(a, keyOf(ctx), w.came)
		if answer == pending {
			switch answer, err = w.await(ctx, i); {
			case errors.Is(err, errImpatient):
				continue // at the same gate, holding nothing
			case err != nil:
				c.leave(gates.Neutral)
				if errors.Is(err, errTooLate) {
					return false, &retry.TimeoutError{Kind: retry.TimeoutQueue, Limit: a.Timeout}
				}
				return false, err
			}
		}
		if answer == refused {
			err := &retry.RefusedError{Gate: pl.gate.spec.Name, Reason: pl.look().reason}
			c.leave(gates.Neutral)
			return false, err
		}
		pl.held = true
		i = w.next(i)
	}
	c.probe = c.probing()
	return c.probe, nil
}

func (c *call) probing() bool {
	for i := range c.places { // in place: the rest of one belongs to its gate's lock
		if r := c.places[i].look(); r.verdict == granted && r.probe {
			return true
		}
	}
	return false
}

// Retry asks the budget of each gate. Only the first gate is told when the attempt
// is due; the call comes to the others when it has passed that.
func (c *call) Retry(attempt int, due time.Time) bool {
	outcome := gates.Failure
	if c.probe {
		outcome = gates.FailedProbe
	}
	for i := range c.places {
		if !c.places[i].backoff(attempt, outcome, due) {
			return false
		}
		due = time.Time{}
	}
	return true
}

// Leave gives up the places of the call.
func (c *call) Leave(reason retry.Reason) { c.leave(gates.OutcomeOf(reason)) }

func (c *call) leave(outcome gates.Outcome) {
	for i := len(c.places) - 1; i >= 0; i-- {
		c.places[i].leave(outcome)
	}
}
