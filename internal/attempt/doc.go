// Package attempt runs the bodies of activities and steps: contexts, timeouts, panics and
// heartbeats. How many run at a time is decided by the slots of package dispatch.
//
// # Life of an attempt
//
// The owner of a run begins an attempt when the turn that starts it is durable. An attempt
// that was committed ahead of its time starts when its backoff ends. An attempt ends once: its
// body returns, a timeout passes, or the runner gives it up in a shutdown. Owner.Ended
// receives the result. A body that ignores its timeout runs on. The runner counts such bodies,
// and above a limit they keep their slots (Runner.Health).
//
// # Locks
//
// Runner has its own lock, which comes after the owner's: an owner may call any method with its
// locks held, and this package calls Owner without holding a lock. An attempt
// stays in the runner until its owner has recorded its end, so whoever holds the owner's lock
// sees either a running attempt or its end.
//
// # Decisions
//
//   - Liveness is judged in memory; progress is recorded. The node decides whether a
//     heartbeat is overdue from the calls it received, so an outage of the database fails no
//     attempt. Details reach the run at most once per interval, and always with a failure.
//   - A body whose attempt would be asked about ends with the lease (context.go). All others run
//     on through an outage of the database, after which their results still count.
//   - An external attempt belongs to no node. After activity.ErrPending it is a row with a
//     due time. Its token is signed with the database's secret; there is no table of tokens.
//     Its owner reads the inbox before such an attempt times out.
package attempt
