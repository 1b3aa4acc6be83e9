package gate

import (
	"context"
	"iter"
)

// Each iterates over seq while holding a slot of the gate. It takes the slot before it
// asks seq for a value, and gives it back when the loop asks for the next one, breaks or
// panics, or seq ends. Between two values the loop queues again, behind all that wait.
//
// If Acquire fails, the loop gets its error with the zero T, and ends.
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
