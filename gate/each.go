package gate

import (
	"context"
	"iter"
)

// Each goes through seq with a slot of the gate: taken before seq is asked for a
// value, and given back when the loop asks for the next one, breaks or panics, or
// seq ends. Between two values the loop queues again, behind all that wait.
//
// If there is no slot to be had, the loop gets the error of Acquire with the zero
// T, and ends.
func Each[T any](ctx context.Context, g *Gate, seq iter.Seq[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		release, err := g.Acquire(ctx)
		defer func() {
			if release != nil {
				_ = release()
			}
		}()
		if err == nil {
			seq(func(value T) bool {
				if !yield(value, nil) {
					return false
				}
				_ = release()
				release, err = g.Acquire(ctx)
				return err == nil
			})
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}
