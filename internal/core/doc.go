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
package core
