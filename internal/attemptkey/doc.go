// Package attemptkey holds the key under which a context carries the attempt that runs in it.
// Package retry reads it; the contexts of retry.Do and of activities answer to it.
package attemptkey

// Key is the context key of the innermost attempt.
type Key struct{}
