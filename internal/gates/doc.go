// Package gates implements the discipline of a gate as steps: which attempts may start now, which
// wait, which are refused, and when to look again. It is pure, without I/O, clock, randomness,
// goroutines or locks. The gate in process and that of the engine are shells around a [Machine].
//
// # Terms
//
// A ticket is the place of one call at the gate. It is waiting (its next attempt is due),
// running (its attempt was granted), in backoff, or standing by. A slot is one of Limit
// places. A running ticket has a slot, and in mode Hold it keeps the slot in backoff.
//
// A free slot goes to the run keys in turn (share.go), but to none whose own limit or rate is
// reached. Tickets of a key are served by priority, then in the order of arrival; with
// PriorityFirst the priority stands above the keys. Those that do not wait are skipped.
//
// # Admission
//
// An attempt is granted when the gate is not paused, the circuit breaker lets it pass, the rate
// has a token, and the ticket has a slot or one is free. The retry budget is asked when an attempt
// has failed, before its backoff, or when the retry of a call that had left comes back.
//
// # Obligations of a shell
//
//  1. Pass the time with each input, in nanoseconds since 1970. A clock that goes backwards
//     delays grants and does no other harm.
//  2. After each input, act on the [Step]: notify the granted and refused calls.
//  3. Call Tick at the time of Next. Next may change with each input.
//  4. End each grant with Backoff, Return, Done or Leave. End a grant for a closed call with
//     Leave, even if the call had sent Leave before: messages may have crossed.
//  5. A durable shell writes, in one transaction with its messages, the record of each
//     ticket in Step.Changed (or deletes it, if [Machine.Ticket] has none), and
//     [Machine.Record] if Step.Record is set. [Restore] rebuilds the machine from both.
//  6. A call that needs several gates enters them in the order of their names, each when the
//     one before has granted, and tells each gate when it came to the first. When its
//     [Patience] with the next gate ends, it returns what it was granted (Return) and waits
//     for that gate alone; then it asks for the gates that it lacks. A retry does the same
//     again: at all gates but the first the backoff lasts until Never, and Enter ends it. It
//     gives up a slot that it still has at a later gate (Yield), because two calls could
//     deadlock otherwise.
//
// Inputs may be repeated. An input for an attempt that has ended, or one that repeats an
// earlier input, changes nothing. Only an Enter that arrives after the end of its ticket is
// taken for a new one; see obligation 4.
//
// # Decisions
//
//   - A gate grants when a backoff ends, without another message from the caller, because
//     the caller named the time. At the second and later gates of a call the caller announces
//     itself, because it must hold the earlier ones.
//   - A call that needs several gates keeps a slot of one only for a moment while another
//     makes it wait. Strict all-or-nothing, where a call keeps no slot while it waits,
//     starves: where both gates are busy, two slots never become free at the same time. To
//     keep a slot without limit leaves it idle for the length of the other line. Growing
//     patience is between the two: the time for which slots are kept in vain is bounded by
//     the time that is needed in the end.
//   - An open breaker or an empty budget stops a call without an attempt. The record of a
//     refused attempt has no start.
package gates
