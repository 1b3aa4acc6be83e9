// Package workers runs short tasks on goroutines that are kept for a while. A new
// goroutine has to grow its stack through workflow code, JSON and SQL each time, which
// was a fifth of a step's work.
package workers
