// Package gate limits how many calls run at a time, and decides what happens to their
// slots while they wait for a retry.
//
//	var payments = gate.New("payments", 10)
//
//	err := retry.Do(ctx, retry.Standard, charge, gate.Through(payments))
//
// At most ten calls hold a slot at a time; the others wait in the order in which they came, higher
// priorities ([ThroughAt]) first. The gate's [Mode] says what a failed call does with its slot
// during backoff. Hold keeps it, so that no later call overtakes. Release frees it, and the
// retry queues at the end. Rejoin frees it, and the retry goes before all calls that came later
// than its own.
//
// A gate can also limit how many attempts start per second ([WithRate]), stop retries
// when too many calls need them ([WithBudget]), and stop attempts while a resource is
// broken ([WithBreaker]).
//
// A call can need several gates: Through(database, payments). A call takes them in the order of
// their names, whatever the order in the code, so that calls cannot wait for each other in a
// circle. A call that holds some slots and has to wait for another keeps them only briefly.
//
// # What a gate is
//
// A [Spec] is plain data and describes a gate. A [Gate] is the gate of a Spec in this
// process. The durable engine takes the same Spec and keeps the gate in its database, one
// for all processes (activity.Through).
//
// Both use the same rules (internal/gates), which decide which call is
// next and use neither a clock nor a lock.
package gate
