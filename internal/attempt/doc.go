// Package attempt runs the bodies of activities and steps: contexts, timeouts, panics,
// heartbeats, and slots, which limit how many run at a time.
//
// # Life of an attempt
//
// The owner of a run begins an attempt when the turn that says so is durable. An attempt
// that was made durable ahead of its time starts when its backoff ends. It ends once: the
// body returns, or a timeout passes, or the runner gives it up in a shutdown. Owner.Ended
// is told how. A body that ignores its timeout runs on; it is counted, and above a limit
// such bodies keep their slots (Runner.Health).
//
// # Slots
//
// A Slot is a place in which one attempt runs. It has one owner at a time: the call for
// which it was taken, then the attempt. Freeing it twice is harmless. Calls without a
// slot wait in a queue by priority, those that were lost with their process first. Suspects, calls that were lost with their process again
// and again, run in the probation lane, in groups that package suspects chooses: if the
// process dies again, fewer of them are left that may be the cause.
//
// A slot whose attempt has ended may stay with its run for the next call (Slot.Keep), within
// bounds that keep every other call's wait bounded.
//
// A slot that comes free goes to the first call in the queue. The one who frees it gets that
// grant as a result and delivers it: so slots know nothing of runs, and a grant can be
// delivered under the locks of its owner.
//
// # Locks
//
// Runner and Slots have locks of their own, which come after the owner's: an owner may
// call any method with its locks held, and no method of Owner is called with a lock of
// this package held. So an attempt is in the runner until its owner has been told of its
// end: a holder of the owner's lock sees either a running attempt or its end.
//
// # Decisions
//
//   - Priority is strict. QueueTimeout bounds a wait; a gate bounds what a class of
//     calls takes.
//   - Liveness is judged in memory, progress is on record. The node decides whether a
//     heartbeat is overdue from what it heard, so an outage of the database kills no
//     attempt. Details reach the run at most once per interval, and always with a
//     failure.
//   - An external attempt belongs to no node. After activity.ErrPending it is a row with
//     a due time. Its token is signed with the database's secret; there is no table of
//     tokens. The inbox is read before such an attempt times out.
package attempt
