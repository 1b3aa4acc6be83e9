package gate

import "context"

// runKey is the run key of calls in this process, and its weight.
type runKey struct {
	name   string
	weight int
}

type runKeyOf struct{}

// ContextWithKey returns a context whose calls take turns at gates with those of other keys, for
// instance one key a customer: a free slot goes to the keys in turn, weight times in a row where
// others have weight 1. Weights are from 1 to 1,000; 0 is 1. Calls of a context without a key have
// the key "". At the gates of an engine the key of the run counts; see workflow.Key.
//
// Spec.PerKey bounds what one key takes.
func ContextWithKey(ctx context.Context, key string, weight int) context.Context {
	return context.WithValue(ctx, runKeyOf{}, runKey{key, weight})
}

// keyOf returns the run key of a context, which is zero if it has none.
func keyOf(ctx context.Context) runKey {
	k, _ := ctx.Value(runKeyOf{}).(runKey)
	return k
}
