// Package lossy says what values of a Go type lose on their way through JSON, from the type
// alone: before the first value has gone that way.
package lossy
