// Package coro runs a group of coroutines deterministically.
//
// The code of a workflow is written as if it could block: it waits for an activity, sleeps,
// receives from a channel. A Scheduler runs such code in coroutines, one at a time, on the
// goroutine that calls Run. Runnable coroutines stand in a first-in, first-out queue. Run
// lets each run until it parks, and returns when the queue is empty. The same wake-ups in
// the same order therefore give the same execution, on every machine, every time.
//
// Coroutines are built on iter.Pull, whose switch bypasses the Go scheduler (about five
// times cheaper than a pair of channel operations).
//
// Close unwinds a scheduler that is no longer needed: parked coroutines end by
// runtime.Goexit, which runs the deferred calls of user code and which user code cannot
// recover. Goexit inside a coroutine also ends the goroutine that resumed it, so Close
// unwinds on goroutines of its own.
package coro
