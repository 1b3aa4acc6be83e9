// Package workers runs short tasks on pooled goroutines. A new goroutine has to grow its stack
// through workflow code, JSON and SQL, which took a fifth of the time of a step.
package workers
