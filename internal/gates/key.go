package gates

import "context"

type keyOf struct{}

// RunKey is a run key and its weight.
type RunKey struct {
	Name   string
	Weight int
}

// KeyContext returns a context whose calls take turns as those of a run key.
func KeyContext(ctx context.Context, k RunKey) context.Context {
	return context.WithValue(ctx, keyOf{}, k)
}

// KeyOf returns the run key of a context, which is zero if it has none.
func KeyOf(ctx context.Context) RunKey {
	k, _ := ctx.Value(keyOf{}).(RunKey)
	return k
}
