// Package engine runs workflows: it connects the pure machines of internal/core with
// a store, a clock and goroutines.
//
// # How a run moves
//
// A run in memory is a resident, and so is a gate or a schedule. Every event for a resident
// (an attempt ended, a slot came free, a message arrived, a timer is due) is put into its
// mailbox. If no goroutine works on the resident, one starts (but the message that a worker has claimed
// an attempt waits up to 200 ms for the next one). It takes the mail, steps the
// machine, hands the turn to the committer and waits. The turn has no effect before it is
// durable: only then do attempts start and callers get their results. Then the goroutine
// takes the mail that has arrived meanwhile. So a run has one turn in flight. Turns do not
// wait for each other, except in the committer, which writes all turns that are ready in one
// transaction, and where code is on trial. One interface, stepper, covers all kinds of residents.
//
// A resident that only waits for a distant time is evicted. When it is needed, it is loaded
// and replayed. A message that a run cannot take yet is deferred: it waits beside the
// mailbox and does not cause the run to be loaded.
//
// # Rooms
//
// What is decided without a run in hand stands in rooms below this one, each with its own state
// and lock: what the engine was told (settings); who may start, and when (dispatch); where a message
// waits (post); what is read ahead from the database (feed); which locations this node serves, and at
// which node a run goes on (placement); what may kill a process (suspicion); bodies (attempt); leases
// (member); durable turns (commit); workflow code under a time limit (replay.Guard); deletion (sweep);
// what is registered (registry); why a run has no code (hold). The engine leads values from one to the
// other. Few call back, without a lock of their own: who reads or waits (feed, member, attempt,
// suspicion) tells the engine what has come.
//
// What has a run in hand is a method of the run (activeRun), of the resident, or of its location.
// The rest is a part of the Engine: the inbox routes messages; the dispatcher lets runs and attempts
// start; locations are taken and lost, and recovery resumes what was in flight in them; queues serve
// other engines' calls; switches follow the group's. Their common lock, mu, guards residents and their
// mailboxes, and the taking and losing of locations. It comes before the locks of all rooms.
//
// # Where things are
//
//	engine.go       Engine and its life: Open, Start, Stop; the news of the database
//	resident.go     residents: mailbox, the goroutine that works on one, eviction
//	stepper.go      the interface common to runs, gates and schedules
//	pools.go        what is used again
//	turn.go         one turn of a resident: fill, step, commit, apply; the guarded step of a run
//	run.go          runs as steppers
//	durable.go      what a durable turn changes in memory, what is durable without a step, mail that nobody takes
//	standing.go     gates and schedules as steppers
//	load.go         loading and replaying a run
//	park.go         runs that are parked, and runs whose record is damaged
//	determinism.go  replay of runs beside those in memory, for CheckCode and the check of determinism
//	suspects.go     the code of runs on trial, and calls that were charged or survived
//	attempt.go      what attempts and questions run, their results, heartbeats and transactions
//	queue.go        corrections of what a turn says about attempts in queues
//	queues.go       serving queues, and losing a worker
//	dispatcher.go   what lets runs and attempts start: want, grant, due times
//	slots.go        admission of calls, and what cannot start here
//	inbox.go        routing the messages of the inbox, claiming them, and those that cannot be read
//	location.go     a location that this node owns, with its mail
//	takeover.go     taking locations over, resuming what was in flight
//	lost.go         losing locations
//	move.go         runs that move to a node whose code fits, and come home from one that is gone
//	holder.go       the engine as member.Holder
//	line.go         runs that begin, at once or in line
//	chain.go        from a run of a chain to the next
//	child.go        start of children
//	intake.go       the mail that one turn takes, and what must be heard before it
//	local.go        shortcuts for requests of this process
//	answer.go       queries
//	switches.go     reading the switches of the group
//	health.go       Health, Live and Ready, and gauges
//
// # Decisions
//
//   - An idle gate is deleted after a week if a new one would behave the same.
//   - When the engine pauses a call itself (exhausted with OnExhausted: Pause, or
//     quarantined), it records CallControlled without a name. With an OnPaused hook, the
//     row says that the hook has not returned yet, so a crash in between repeats the call.
//   - Pausing an activity in a whole group is an entry in the group's log of switches,
//     which nodes read at start, when notified, and periodically.
//   - Workflow code that waits while nothing is open is parked with that reason.
//   - A call of an unregistered activity stays queued; log and Health say so.
//   - The attempt after a backoff is committed early and begins when it is due: up to
//     200 ms early if it needs no slot before it begins, else 20 ms. If its process dies
//     in between, the call returns to its backoff.
//   - A node drains if too much of its workflow code does not return: goroutines cannot be
//     ended from outside. Above a limit, bodies that ignore their timeout keep their slots.
//   - Closed runs are deleted without fencing, because their rows have no writer. Each
//     engine sweeps its own partitions; perdure gc sweeps all. The last run of a chain is
//     deleted before the earlier ones. The next sweep continues an interrupted one.
package engine
