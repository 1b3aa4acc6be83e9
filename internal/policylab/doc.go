// Package policylab tries a retry policy on calls that are on record: it replays their
// attempts and asks retry.Decide after each failure what the policy would have done. It
// reads nothing, draws nothing and knows no clock: calls, draws and the time of the
// reading are arguments.
//
// # Decisions
//
// As long as the policy decides as was decided on record, the attempts on record are those
// of the trial, with all that came between them: queues, gates, crashes, people. So the
// policy that was in force gives back the record.
//
// Where it decides otherwise, the next attempt runs at another time. It ends as the
// recorded attempt nearest in time did, and takes as long. Between the last failure and a
// success that is a guess, so the call is replayed twice more: once as if everything not on
// record failed, once as if it succeeded. After a success on record the call would have
// succeeded. After a last attempt that failed nothing is known: there the trial ends, but
// for the half of the last interval for which that attempt stands.
//
// An attempt that was lost or drained is no failure of the call. It is lost once in the
// trial, too, if the trial comes by.
package policylab
