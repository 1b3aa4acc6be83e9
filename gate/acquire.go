package gate

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/retry"
)

// Acquire takes a slot for work that is no call of retry.Do, with priority zero,
// and returns how to give it back. Giving it back twice is an error and frees
// nothing. To bound the wait give ctx a deadline.
//
// Such work starts when an attempt would; it tells the gate's circuit breaker and
// retry budget nothing, because how it ends is not known.
//
// The error is an *retry.AbortedError of retry.PhaseQueue if ctx ends before
// there is a slot, a *retry.RefusedError if the breaker is open, and a
// *retry.ConfigError if the gate is misconfigured.
func (g *Gate) Acquire(ctx context.Context) (release func() error, err error) {
	c, err := set{gates: []*Gate{g}}.call()
	if err != nil {
		return nil, &retry.ConfigError{Name: g.nameOf(), Err: err}
	}
	if ctx.Err() == nil {
		if err := c.Enter(ctx, 1, 0); err != nil && ctx.Err() == nil {
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
