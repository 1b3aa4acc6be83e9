// Package core is the pure step machine of a run.
//
// A Run knows its history, its open calls and how many attempts each has had.
// It advances by steps: Step takes what happened (inputs) and the engine time,
// lets the run's code go on until it waits, and returns a Turn: the events to
// append, the rows to change, the ledger records to keep, and what to do once
// all that is durable (start attempts, interrupt attempts). The machine does
// nothing itself. It performs no I/O, reads no clock, draws no random number,
// starts no goroutine and logs nothing; the same arguments give the same turn.
//
// The obligations of the caller:
//
//  1. Start nothing of a Turn before it is durable. If it is refused, drop the
//     Run and load it again: the machine has already moved on in memory.
//  2. One Turn at a time: commit one before taking the next Step.
//  3. Hand in engine time that never goes back.
//  4. After Load, hand in TakenOver before anything else.
//
// # Parts
//
// A Run conducts parts, each with its own state: the journal of the turn that is made,
// the ledger, the table of open calls, gating, the life of attempts, operations,
// children and signals. See parts.go; a part uses what is below it and nothing above.
//
// # History and rows
//
// What the code can see (results, timers, signals) is in the history. What it
// cannot see (that an attempt failed and another follows) is not: it lives in
// the call's row, which exists only while the call waits, is not in its first
// attempt or has said something by a heartbeat, and in the ledger. A call that is scheduled in history, has no row
// and is not closed is therefore in its first attempt.
//
// # Code and machine
//
// The machine is rebuilt from events alone. A Program (the run's code) replays
// beside it and is compared with it, command by command; the first difference
// is a *Mismatch. A run whose code is missing, does not fit or is stuck goes on
// without a Program: attempts in flight still end and are recorded. Such turns
// end with CodeDeferred, and their inputs reach the code in the next turn in
// which it runs.
//
// # Decisions
//
//   - Messages may repeat, not reorder. Turns of gates and schedules have no number, so
//     they are Repeatable: hearing a message twice changes nothing, and each passage of
//     a call has a ticket number of its own.
//   - Slots do not leak. A run that receives a grant for an unknown ticket replies done;
//     the owner replies for closed or missing runs. A gate repeats grants older than
//     five minutes and so finds lost holders.
//   - The limit counts attempts. A grant is durable before its attempt starts, and the
//     slot is free when the end is durable. The body of an abandoned attempt may still
//     run for a while beside the next one.
//   - Several gates are taken in the order of their names, so calls cannot wait for each
//     other in a circle. After a failed attempt the same order holds again.
//   - A call carries its gates' specification from the event that scheduled it; the
//     latest wins, and a difference is logged once. Gates come before slots, so a gate
//     should not be much wider than the nodes behind it.
//   - Requests cut time. A request to pause, resume or change a schedule carries the
//     moment it was made. Earlier fires are decided under the earlier rule; pauses are
//     not caught up. A turn decides a bounded number of times.
//   - Nominal times come from outside the core, from the cron expression and a linked
//     time zone database. A deleted schedule keeps its row, so that a new one of its
//     name does not fire the same times again.
//   - A manual retry may start after Within. If it fails, the policy decides as usual.
//   - Pausing a run defers its code and pauses its calls; timers fire and attempts in
//     flight end.
//   - CrashLimit: 1 quarantines on any loss. From 2 on, only losses count in which the
//     call was alone in the probation lane.
//   - First-try successes are counted, not recorded. A row for each would double what a
//     step writes. Turns that write more rows anyway add to the partition's counters;
//     what is counted follows from history, so crashes and repeated commits neither lose
//     nor double a call.
//   - Each ledger record carries sums over its call's attempts. The latest record is
//     never pruned, so the sums are exact without a write of their own. The ledger has
//     one index beyond its key, by time.
//   - An abandoned child is cancelled, not terminated, because it may have to clean up.
//     Its parent-close policy is on record with its start and is applied in the parent's
//     closing turn.
//   - A child ID that another run has is refused as an error value. Attaching to a
//     foreign run would give one child two parents.
//   - A run's retry is decided once. Replay compares the failure and takes the decision
//     from the record, so the policy may change at any time.
//   - A refused call is on record. The limit of pending calls is a setting, so the
//     refusal stands in history for replay. The history limit applies before code makes
//     history longer, never to missing code.
//   - A full backlog is marked in the run's row. Senders read that row anyway. The mark
//     is cleared when the code has read a fifth; accepted signals are never dropped.
//   - A run timeout comes before other inputs of its moment, and needs no code, so
//     parked runs end in time.
//   - Attributes are commands. A turn carries all attributes of the run and replaces its
//     rows.
//   - A request to cancel sticks to the chain, because the code may continue as new in
//     the turn in which it is told.
//   - A run's successor has an ID derived from it by a hash, so the machine can create
//     it.
package core
