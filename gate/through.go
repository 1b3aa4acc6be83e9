package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/turnstile"
	"github.com/perdure/perdure/retry"
)

// Through leads the attempts of a call of retry.Do through gates. They are taken
// in the order of their names and given back in the reverse one. In mode Hold a
// slot is taken once, before the first attempt, and given back once, when the
// call has ended, whatever ended it; in the other modes once per attempt.
//
// An attempt must not call through a gate that it has passed: with all slots
// taken by such attempts, each of them waits for the others.
//
// A call that is canceled while it waits returns a *retry.AbortedError of
// retry.PhaseQueue. One that an open breaker stops returns a
// *retry.ExhaustedError that wraps a *retry.RefusedError. Gates that are
// misconfigured, named twice or different and of the same name are a
// *retry.ConfigError.
func Through(gates ...*Gate) retry.Option {
	sorted := slices.Clone(gates)
	slices.SortStableFunc(sorted, func(a, b *Gate) int { return strings.Compare(a.nameOf(), b.nameOf()) })
	return retry.WithGates(set(sorted))
}

// nameOf is Name for a gate that may be nil.
func (g *Gate) nameOf() string {
	if g == nil {
		return ""
	}
	return g.spec.Name
}

// set are the gates of a call in the order of their names.
type set []*Gate

// Call implements retry.Gates.
func (s set) Call(priority int) (retry.Passage, error) {
	if len(s) == 0 {
		return nil, errors.New("it goes through no gate; name at least one, or leave the option out")
	}
	p := &passage{}
	if p.places = p.one[:]; len(s) > 1 {
		p.places = make([]place, len(s))
	}
	for i, g := range s {
		switch {
		case g == nil:
			return nil, errors.New("one of its gates is nil")
		case g.err != nil:
			return nil, g.err
		case i > 0 && s[i-1] == g:
			return nil, fmt.Errorf("it names the gate %q twice", g.spec.Name)
		case i > 0 && s[i-1].spec.Name == g.spec.Name:
			return nil, fmt.Errorf("two of its gates have the name %q; names give the order in which gates are taken", g.spec.Name)
		}
		p.places[i] = place{gate: g, priority: priority}
	}
	return p, nil
}

// passage is the way of one call through its gates.
type passage struct {
	places []place
	one    [1]place // spares most calls an allocation
}

// Enter implements retry.Passage. Behind a gate that makes the call wait it keeps
// no slot: somebody who has what it waits for might wait for that slot.
func (p *passage) Enter(ctx context.Context, attempt int, timeout time.Duration) error {
	var timer *time.Timer
	var tooLate <-chan time.Time
	for i := range p.places {
		pl := &p.places[i]
		answer := pl.ask(attempt)
		if answer == pending {
			for j := i + 1; j < len(p.places); j++ {
				p.places[j].yield()
			}
			if timer == nil && timeout > 0 {
				timer = time.NewTimer(timeout)
				defer timer.Stop()
				tooLate = timer.C
			}
			var err error
			if answer, err = pl.await(ctx, tooLate); err != nil {
				p.leave(turnstile.Neutral)
				if errors.Is(err, errTooLate) {
					return &retry.TimeoutError{Kind: retry.TimeoutQueue, Limit: timeout}
				}
				return err
			}
		}
		if answer == refused {
			err := &retry.RefusedError{Gate: pl.gate.spec.Name, Reason: pl.why()}
			p.leave(turnstile.Neutral)
			return err
		}
	}
	return nil
}

// Retry implements retry.Passage. Only the first gate is told when the attempt is
// due; the call comes to the others when it is past that.
func (p *passage) Retry(attempt int, due time.Time) retry.BudgetVerdict {
	for i := range p.places {
		if !p.places[i].backoff(attempt, due) {
			return retry.BudgetDenied
		}
		due = time.Time{}
	}
	return retry.BudgetAllowed
}

// Leave implements retry.Passage.
func (p *passage) Leave(reason retry.Reason) { p.leave(outcomeOf(reason)) }

func (p *passage) leave(outcome turnstile.Outcome) {
	for i := len(p.places) - 1; i >= 0; i-- {
		p.places[i].leave(outcome)
	}
}

// outcomeOf says what the end of a call tells of what is behind the gate.
func outcomeOf(reason retry.Reason) turnstile.Outcome {
	switch reason {
	case retry.ReasonSucceeded:
		return turnstile.Success
	case retry.ReasonTimeout, retry.ReasonMaxAttempts, retry.ReasonWithin, retry.ReasonBudget:
		return turnstile.Failure
	}
	return turnstile.Neutral
}
