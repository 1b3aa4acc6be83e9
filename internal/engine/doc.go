// Package engine moves runs: it connects the pure machine of internal/core with
// a store, a clock and goroutines.
//
// # How a run moves
//
// A run in memory is a resident, and so is a gate or a schedule. What happens to it (an
// attempt ended, a slot came free, a message arrived, a time has come) is put into its
// mailbox, and a goroutine begins to work on it if none does: it takes the mailbox, steps
// the machine, hands the turn to the committer and waits. Only when the turn is durable
// does anything of it happen: attempts start, callers are told. Then the goroutine takes
// the next mailbox. So a run has one turn in flight, and runs do not wait for each other,
// except in the committer, which makes all turns that are ready at a moment durable in
// one transaction. All kinds of residents are stepped by one interface, stepper.
//
// A resident that only waits for something far off is dropped from memory and loaded
// again, by replay, when it is needed. A message that a run cannot take yet is deferred:
// it waits beside the mailbox and does not load the run. What a turn takes of its mail is
// asked of the rules that features register, see intake.go.
//
// # Where things are
//
//	engine.go       life of the engine: Open, Start, Stop
//	config.go       what it is told
//	build.go        what this program is: its build, and what it has registered
//	resident.go     a run in memory: its mailbox, the work on it, when it leaves
//	stepper.go      runs, gates and schedules as one kind of thing
//	turn.go         a turn of a resident: load, step, commit; the step of a run
//	standing.go     gates and schedules in memory
//	load.go         from the store into memory
//	park.go         runs whose code is missing, does not fit or failed: why, and for how long
//	unread.go       ends of attempts that cannot be read
//	checkcode.go    which open runs would not go on with the code of this engine
//	damaged.go      runs of whose record a part cannot be read
//	trial.go        runs that may be what processes die of: their code runs under a mark
//	suspicion.go    whether there is a reason for that, and what goes with a run to another node
//	guard.go        user code under watch: panics, turns that do not end
//	watched.go      a step of a run under watch
//	attempt.go      beginning attempts, and what is heard of them
//	queue.go        attempts that are offered in queues, and serving these
//	external.go     attempts that are completed from outside
//	transaction.go  what bodies do in the transaction of their result
//	slots.go        which calls may have a slot, and what becomes of a grant
//	wake.go         due times and the scan for them
//	inbox.go        messages from clients and other runs
//	partition.go    taking partitions over, and losing them
//	ward.go         runs that go on at another node, whose code fits
//	canary.go       runs that begin at another node, because a build gets a share of them
//	holder.go       what the member tells of partitions: taken, lost, closed, quiet, dropped
//	line.go         runs that are to begin and wait for slots: in memory, and in the database
//	chain.go        the next run of a chain, and which run gets what comes for the latest
//	child.go        runs that other runs start, until their rows are durable
//	intake.go       what a turn takes of the mail, by the rules of each feature
//	waiting.go      where messages wait in memory, and why
//	gate.go         gates: entities that say when attempts may start
//	schedule.go     schedules: entities that start runs over and over
//	local.go        what requests of this process get faster
//	answer.go       answering queries, between turns
//	update.go       the replies to those who asked for updates
//	reset.go        a run goes on from an earlier call
//	pause.go        telling of calls that wait for a person
//	switches.go     what people switched in the whole group: paused activities, a canary
//	report.go       what the log says of failures
//	observe.go      what observers are told, and how the engine stands in memory
//	limit.go        warnings before a run comes to a limit
//	retention.go    removing what has been over for long enough
//	reuse.go        which runs that have ended make room for a child, and how it begins after one
//	health.go       what is wrong right now
//
// # Decisions
//
//   - An idle gate is deleted after a week if a new one would behave the same.
//   - The engine's own pauses (exhausted with OnExhausted: Pause, quarantined) are such
//     events without a name. With an OnPaused hook, the row records that the hook has
//     not returned yet, so a crash in between repeats the call.
//   - Pausing an activity in a whole group is an entry in the group's log of switches,
//     which nodes read at start, when notified, and periodically.
//   - Code that waits with nothing open is parked with that reason.
//   - A parked run is tried again when its owner's code has another fingerprint:
//     workflow.Version, else a hash of the executable. One that was stuck, or whose turn
//     the database refused, is tried at the next start.
//   - A call of an unregistered activity stays queued; log and Health say so.
//   - The attempt after a backoff is committed early and begins when it is due: up to
//     200 ms if it needs no slot before, else 20 ms. If its process dies before that, the
//     call returns to its backoff.
//   - A node whose workflow code does not return drains. Goroutines cannot be ended from
//     outside. Bodies that ignore their timeout are throttled above a cap.
//   - Closed runs are deleted without fencing. Their rows have no writer. Engines sweep
//     their own partitions to share the work, perdure gc all. The last run of a chain
//     goes before the earlier ones, and an interrupted sweep is finished by the next.
package engine
