// Package attempt runs the bodies of activities and steps: contexts, timeouts, panics,
// heartbeats, and slots, which limit how many run at a time.
//
// # Life of an attempt
//
// The owner of a run begins an attempt when the turn that starts it is durable. An attempt
// that was committed ahead of its time starts when its backoff ends. An attempt ends once: its
// body returns, a timeout passes, or the runner gives it up in a shutdown. Owner.Ended
// receives the result. A body that ignores its timeout runs on. The runner counts such bodies,
// and above a limit they keep their slots (Runner.Health).
//
// # Slots
//
// A Slot is permission for one attempt to run. It has one owner at a time: the call for which
// it was taken, then the attempt. Freeing it twice is harmless. Calls without a slot wait in a
// queue by priority; of equal priority, calls that were lost with their process go first.
// Suspects (calls that were lost with their process repeatedly) run in the probation lane, in
// groups that package suspects chooses: if the process dies again, fewer of them remain that
// may be the cause.
//
// A slot whose attempt has ended may stay with its run for the next call (Slot.Keep), within
// limits that bound the wait of every other call.
//
// A free slot goes to the first call in the queue. Slot.Free returns that grant, and its
// caller delivers it. So slots know nothing of runs, and a grant can be delivered under the
// locks of its owner.
//
// # Locks
//
// Runner and Slots have their own locks, which come after the owner's: an owner may call any
// method with its locks held, and this package calls Owner without holding a lock. An attempt
// stays in the runner until its owner has recorded its end, so whoever holds the owner's lock
// sees either a running attempt or its end.
//
// # Decisions
//
//   - Priority is strict. QueueTimeout bounds a wait; a gate bounds what a class of
//     calls takes.
//   - Liveness is judged in memory; progress is recorded. The node decides whether a
//     heartbeat is overdue from the calls it received, so an outage of the database fails no
//     attempt. Details reach the run at most once per interval, and always with a failure.
//   - An external attempt belongs to no node. After activity.ErrPending it is a row with a
//     due time. Its token is signed with the database's secret; there is no table of tokens.
//     Its owner reads the inbox before such an attempt times out.
package attempt
