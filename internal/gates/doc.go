// Package gates is the discipline of a gate, as data ([Spec]) and steps: who may
// start an attempt now, who waits, who is refused, and when to look again. It is
// pure: no I/O, clock, randomness, goroutine or lock. The gate in process and
// the durable gate of the engine are two shells around the same [Machine].
//
// # Words
//
// A ticket is the place of one call at the gate. It is waiting (its next attempt
// is due), running (its attempt was granted) or in backoff. A slot is one of
// Limit places; a ticket that runs has one, and in mode Hold it keeps the slot
// in backoff.
//
// Waiting tickets are served by priority, the highest first, and within one in the order
// in which they came. A ticket in backoff, or one that stands by, is passed over.
//
// # Admission
//
// An attempt is granted when the gate is not paused, the circuit breaker lets it
// pass, the rate has a token for it, and the ticket has a slot or one is free.
// The retry budget is asked when an attempt has failed, before its backoff.
//
// # What a shell must do
//
//  1. Give each input the time, in nanoseconds since 1970. A clock that goes
//     backwards delays grants and does no other harm.
//  2. After each input, act on the [Step]: tell those granted and refused.
//  3. Call Tick when the time of Next has come. Next may change with each input.
//  4. End each grant with Backoff, Return, Done or Leave. A grant for a closed call is
//     ended with Leave, even if the call had sent Leave before: messages may
//     have crossed.
//  5. A shell that is durable writes, in one transaction with its messages, the
//     record of each ticket in Step.Changed (or deletes it, if [Machine.Ticket]
//     has none), and [Machine.Record] if Step.Record says so. [Restore] takes
//     both back.
//  6. A call that needs several gates enters them in the order of their names,
//     the next one when the one before has granted it, and says at each when it came
//     to the first. What it was granted it gives back (Return) when its [Patience] with
//     the next one is over; then it waits for that one alone, and then asks for those
//     that it lacks. For a retry it does so again: at all gates but the first the
//     backoff is until Never, and Enter ends it. A slot that it still has at a gate
//     behind (Yield) it does not keep, or two calls might wait for each other.
//
// Inputs may come twice. An input for an attempt that has ended, or that says what
// has been said, changes nothing. Only an Enter that comes after the end of its
// ticket is taken for a new one; see duty 4.
//
// # Decisions
//
//   - A gate grants when a backoff ends, without hearing from the caller again, because
//     the caller named the time. At the second and later gates of a call the caller
//     announces itself, because it must hold the earlier ones.
//   - A call that needs several gates keeps a slot of one, while another makes it wait, only
//     for a moment. All or nothing in the strict sense, where no call keeps anything, starves:
//     where both gates are busy, two slots never come free at one time. Keeping what it has
//     for as long as it takes lets slots stand idle for the length of the other line.
//     Patience that grows is between the two: what is kept in vain is bounded by what is
//     needed at last.
//   - An open breaker or an empty budget stops a call without an attempt. The record of
//     a refused attempt has no start.
package gates
