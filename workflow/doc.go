// Package workflow has the functions that durable code is written with.
//
// A workflow is a Go function that the engine can stop at any moment and resume
// elsewhere. To resume it, the engine replays the code against its recorded history, so
// the code must do the same again given the same results. Everything that touches the
// world happens in activities (package activity) and inline steps; everything that waits
// happens through this package, on a *Context:
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
// Workflow code may use any Go that depends on nothing but its input and what this
// package returns. It must not read the clock (use Now), draw random numbers (Rand,
// UUID), start goroutines (Go), use Go channels (NewChannel), range over maps where the
// order shows, or do I/O (Call, Do). If the code no longer makes the calls that its
// history has on record, the run is parked, with the first difference, until the code
// fits again. The analyzer perdurevet, in the module tools, finds most violations of
// these rules before anything runs.
//
// A *Context belongs to one coroutine. Using it anywhere else, inside an inline step for
// instance, panics with a message that says so. A use while its own coroutine runs goes
// unnoticed, and is a data race.
//
// When a run leaves memory, its code is unwound: deferred calls run, and run again each
// time this happens. They must have no effects outside the workflow.
//
// # Children
//
// A workflow is one sequence of turns. Work that needs a history, a retry policy or an
// owner of its own is a child workflow: RunChild and RunChildAsync start it and await its
// result, StartDetached starts it and does not wait for its end. To run many children at
// a time, use Map with RunChild.
//
// # Waiting costs nothing
//
// A run that waits (for an activity in backoff, a timer, a signal, a child) holds no
// goroutine and no connection; when it has been idle for a while, it leaves memory, too.
//
// # Cancellation, races, messages
//
//   - Cancellation and deadlines differ. Canceling a run or scope asks a running attempt
//     to end and keeps its result if it succeeds. A deadline (workflow.Timeout,
//     AttemptTimeout of workflow.Retry) and a lost Select abandon it.
//   - Select is a race, WaitAny is not. Select abandons the losers; a losing wait for a
//     signal leaves the signal.
//   - workflow.Send does not wait. A signal to a missing or closed workflow is dropped
//     and logged.
package workflow
