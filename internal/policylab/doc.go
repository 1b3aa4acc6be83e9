// Package policylab tries a retry policy on recorded calls: it replays their attempts and
// asks retry.Decide after each failure what the policy would have done. It reads no
// database, draws no random number and has no clock: calls, draws and the time are
// arguments.
//
// # Decisions
//
// While the policy decides as was decided on record, the trial uses the recorded attempts
// with everything that came between them: queues, gates, crashes, operators. The policy
// that was in force therefore reproduces the record.
//
// Where the policy decides otherwise, the next attempt runs at another time. It ends like
// the recorded attempt nearest in time, and takes as long. Between the last failure and a
// success that is a guess, so the call is replayed twice more: once as if everything not on
// record failed, once as if it succeeded. After a recorded success the call would have
// succeeded. After a last attempt that failed nothing is known. The trial ends there,
// except that the last attempt stands for half of the interval before it.
//
// A lost or drained attempt is not a failure of the call. The trial loses it once too, if
// it gets there.
package policylab
