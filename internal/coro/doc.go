// Package coro runs a group of coroutines deterministically.
//
// User code of a workflow is written as if it could block: it waits for an
// activity, sleeps, receives from a channel. A Scheduler runs such code in
// coroutines, one at a time, on the goroutine that calls Run. A coroutine that may go on
// stands in a first-in, first-out queue; Run lets each go on until it parks,
// and returns when the queue is empty. So the same wake-ups in the same order
// give the same execution, on every machine, every time.
//
// Coroutines are built on iter.Pull, whose switch does not pass through the Go
// scheduler (about five times cheaper than a pair of channel operations).
//
// A scheduler that is no longer wanted is unwound with Close: parked coroutines
// end by runtime.Goexit, which runs the deferred calls of user code and which
// user code cannot recover. Goexit inside a coroutine takes the goroutine that
// resumed it along, so Close unwinds on goroutines of its own.
package coro
