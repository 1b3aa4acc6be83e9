// Package workflow is what durable code is written with.
//
// A workflow is a Go function that the engine can stop at any moment and resume
// elsewhere: it is replayed from its recorded history, so it must do the same
// again given the same results. Everything that touches the world happens in
// activities (package activity) and inline steps; everything that waits happens
// through this package, on a *Context:
//
//	var Checkout = workflow.New("checkout", func(wf *workflow.Context, o Order) (Receipt, error) {
//		p, err := workflow.Call(wf, Charge, o)
//		if err != nil {
//			return Receipt{}, err
//		}
//		return Receipt{Payment: p}, workflow.Sleep(wf, 24*time.Hour)
//	})
//
// # Rules
//
// Workflow code may use any Go that depends on nothing but its input and what
// this package returns. It must not read the clock (use Now), draw random
// numbers (Rand, UUID), start goroutines (Go), use Go channels (NewChannel),
// range over maps where the order shows, or do I/O (Call, Do). Code that no
// longer asks for what its history has on record is not guessed about: the run
// is parked, with the first difference, until the code fits again.
// The analyzer perdurevet, in the module tools, finds most of what breaks these
// rules before anything runs.
//
// A *Context belongs to one coroutine. Using it anywhere else, inside an inline
// step for instance, panics with a message that says so; only a use at the very
// moment in which its own coroutine runs goes unnoticed, and is a data race.
//
// A run that leaves memory is unwound: deferred calls of its code run then, and
// again whenever that happens. They must do nothing that matters outside.
//
// # Children
//
// A workflow is one sequence of turns. What is to have a history, a retry policy or
// an owner of its own is another workflow: RunChild and RunChildAsync start it and
// await its result, StartDetached starts it and lets it go. To run many things at a
// time, Map over RunChild.
//
// # Waiting costs nothing
//
// A run that waits (for an activity in backoff, a timer, a signal, a child) holds no
// goroutine and no connection, and after a while no memory.
//
// # Cancellation, races, messages
//
//   - Cancel and deadline differ. Cancelling a run or scope asks a running attempt to
//     end and keeps its success. A deadline (workflow.Timeout, AttemptTimeout of
//     workflow.Retry) and a lost Select abandon it.
//   - Select is a race, WaitAny is not. Select abandons the losers; a losing wait for a
//     signal leaves the signal.
//   - workflow.Send does not wait. A signal to a missing or closed workflow is dropped
//     and logged.
package workflow
