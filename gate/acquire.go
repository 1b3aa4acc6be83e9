package gate

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/retry"
)

// Acquire takes a slot for work that is not a call of retry.Do, with priority zero. It
// blocks until there is a slot or ctx ends. release gives the slot back; calling it twice
// returns an error and frees nothing.
//
// Acquire obeys the rate and the circuit breaker as an attempt does, but the work counts
// neither for the breaker nor for the retry budget, because the gate does not learn how
// it ends. So it is never the probe of a half-open breaker: there it passes only if no
// attempt waits, and the next attempt is the probe.
//
// The error is a *retry.AbortedError with retry.PhaseQueue if ctx ends before there is a
// slot, a *retry.RefusedError if the breaker is open and does not Wait, and a
// *retry.ConfigError if the gate is misconfigured.
func (g *Gate) Acquire(ctx context.Context) (release func() error, err error) {
	c, err := newCall([]*Gate{g}, 0)
	if err != nil {
		return nil, &retry.ConfigError{Name: g.nameOf(), Err: err}
	}
	c.places[0].silent = true
	if ctx.Err() == nil {
		if _, err := c.Enter(ctx, retry.GateAsk{Attempt: 1, Once: true}); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		c.leave(gates.Neutral)
		return nil, &retry.AbortedError{Name: g.spec.Name, Attempt: 1, Phase: retry.PhaseQueue, Cause: causeOf(ctx)}
	}
	return func() error {
		if !c.places[0].leave(gates.Neutral) {
			return fmt.Errorf("the slot of gate %q was given back already", g.spec.Name)
		}
		return nil
	}, nil
}

// causeOf is why a context ended: its error and, if there is one, its cause.
func causeOf(ctx context.Context) error {
	err := ctx.Err()
	if why := context.Cause(ctx); !errors.Is(why, err) {
		return fmt.Errorf("%w: %w", err, why)
	}
	return err
}
