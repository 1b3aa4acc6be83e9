// Package core is the pure step machine of a run.
//
// A Run holds its history, its open calls and how many attempts each has had. Step takes
// inputs (what happened) and the engine time, runs the workflow code until it waits, and
// returns a Turn: the events to append, the rows to change, the ledger records to keep, and
// the work to do once all that is durable (start attempts, interrupt attempts). The machine
// performs no I/O, reads no clock, draws no random number, starts no goroutine and logs
// nothing. The same arguments give the same turn.
//
// The obligations of the caller:
//
//  1. Do no work of a Turn before the Turn is durable. If the store refuses it, drop the
//     Run and load it again: the machine has already advanced in memory.
//  2. Commit one Turn before the next Step.
//  3. Pass engine time that never goes back.
//  4. After Load, pass TakenOver before any other input.
//
// # Parts
//
// A Run consists of parts: the journal of the current turn, the ledger, the table of open calls,
// gating, the life of attempts, signals, children, facts about the whole run, its code and
// operations. A part uses only those below it: see parts.go, and verdict.go for ends of attempts.
//
// # History and rows
//
// What the code can see (results, timers, signals) is in the history. What it cannot see
// (an attempt failed and another follows) is in the ledger and in the call's row. A call
// has a row only while it waits, after its first attempt, or once a heartbeat of it is on
// record. A call that is scheduled in history, is not closed and has no row is therefore in
// its first attempt. Calls that follow each other and are alike share a row: see callrows.go.
//
// # Code and machine
//
// The machine is rebuilt from events alone. A Program (the run's code) replays beside it,
// and the machine compares the two command by command; the first difference is a *Mismatch.
// A run continues without a Program if its code is missing, does not fit the history or is
// stuck: attempts in flight still end and are recorded. Such turns end with CodeDeferred,
// and the code sees their inputs in the next turn in which it runs.
//
// # Decisions
//
//   - Messages may repeat, but not reorder. Turns of gates and schedules have no number, so
//     they are Repeatable: a repeated message changes nothing, and each passage of a call
//     has a ticket number of its own.
//   - Slots do not leak. A run that receives a grant for an unknown ticket replies done;
//     the owner replies for closed or missing runs. A gate repeats grants older than five
//     minutes, which finds holders that are gone.
//   - The limit of a gate counts attempts. A grant is durable before its attempt starts,
//     and the slot is free once the end is durable. The body of an abandoned attempt may
//     still run for a while beside the next one.
//   - A call takes several gates in the order of their names, so calls cannot deadlock.
//     After a failed attempt the same order holds again.
//   - A call carries its gates' specification from the event that scheduled it. The latest
//     specification wins, and a difference is logged once. Gates come before slots, so a
//     gate should not be much wider than the nodes behind it.
//   - Requests cut time. A request to pause, resume or change a schedule carries the moment
//     it was made. Earlier fires are decided under the earlier rule; fires missed during a
//     pause are not caught up. A turn decides a bounded number of times.
//   - Nominal times come from outside the core, from the cron expression and a linked time
//     zone database. A deleted schedule keeps its row, so that a new one of its name does
//     not fire the same times again.
//   - A manual retry may start after Within. If it fails, the policy decides as usual.
//   - Pausing a run defers its code and pauses its calls. Timers still fire, and attempts
//     in flight still end.
//   - CrashLimit: 1 quarantines a call on any loss. From 2 on, only losses count in which
//     the call was alone in the probation lane.
//   - First-try successes are counted, not recorded, because a row for each would double
//     what a step writes. Turns that write more rows anyway add to the partition's counters.
//     The counts follow from history, so crashes and repeated commits neither lose nor
//     double a call.
//   - Each ledger record carries sums over its call's attempts. The latest record is never
//     pruned, so the sums are exact without a write of their own. The ledger has one index
//     beyond its key, by time.
//   - An abandoned child is cancelled, not terminated, because it may have to clean up. Its
//     parent-close policy is on record with its start, and the parent's closing turn applies
//     it.
//   - A child ID that belongs to another run is refused as an error value. Attaching to a
//     foreign run would give one child two parents.
//   - A run's retry is decided once. Replay compares the failure and takes the decision from
//     the record, so the policy may change at any time.
//   - A refused call is on record. The limit of pending calls is a setting, so replay needs
//     the refusal in history. The history limit applies before code makes history longer,
//     and never to a run without its code.
//   - A full backlog is marked in the run's row, which senders read anyway. The mark is
//     cleared when the code has read a fifth; accepted signals are never dropped. The row
//     of a full run names the signals it waits for, and takes them: none of such a name is
//     unread. A limit for each name would have no bound, because senders choose the names.
//   - Inputs cut time. Each has the moment at which it became durable, and a step takes
//     them and what is due in the order of these moments, whoever served when. A worker's
//     claim, and the end of an attempt that its worker was told is accepted, come before
//     the time of that attempt ends: the store would refuse a turn that says otherwise.
//   - A run timeout needs no code, so parked runs time out too. Code that is there sees
//     first what came before; what it then begins does not start.
//   - A request to cancel the run reaches open calls by its place in history. Code that is
//     away cannot give them up, so the machine does for it what cannot wait (see
//     code.go). Which calls are shielded is therefore on record.
//   - Attributes are commands. A turn carries all attributes of the run and replaces its
//     rows.
//   - A cancel request applies to the whole chain, because the code may continue as new in
//     the turn in which it learns of the request.
//   - The ID of a run's successor is a hash of the run's ID, so the machine can create the
//     successor.
package core
