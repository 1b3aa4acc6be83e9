package gate

import (
	"context"

	"github.com/perdure/perdure/internal/gates"
)

// ContextWithKey returns a context whose calls take turns at gates with those of other keys, for
// instance one key a customer: a free slot goes to the keys in turn, weight times in a row where
// others have weight 1. Weights are from 1 to 1,000; 0 is 1. Calls of a context without a key have
// the key "". At the gates of an engine the key of the run counts; see workflow.Key.
//
// Spec.PerKey bounds what one key takes.
func ContextWithKey(ctx context.Context, key string, weight int) context.Context {
	return gates.KeyContext(ctx, gates.RunKey{Name: key, Weight: weight})
}
