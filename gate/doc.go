// Package gate bounds how many calls run at a time, and has a say in what happens
// to their slots while they wait for a retry.
//
//	var payments = gate.New("payments", 10)
//
//	err := retry.Do(ctx, retry.Standard, charge, gate.Through(payments))
//
// At most ten calls are past the gate; the others wait in the order in which
// they came, higher priorities ([ThroughAt]) first. What a call that
// failed does with its slot during backoff is the gate's [Mode]: Hold keeps it,
// so that nothing that came later overtakes the call; Release frees it, and the
// retry queues again, at the end; Rejoin frees it, and the retry goes before all that came
// later than the call.
//
// A gate can also bound how many attempts start per second ([WithRate]), stop
// retries when too many calls need them ([WithBudget]), and keep attempts away
// from what is broken ([WithBreaker]).
//
// A call can need several gates: Through(database, payments). They are taken in
// the order of their names, whatever the order in the code, so that calls cannot
// wait for each other in a circle. A call that has some and has to wait for another
// keeps them only for a moment.
//
// # What a gate is
//
// A [Spec] is plain data and says what a gate does. A [Gate] is the gate of that
// Spec in this process. The durable engine takes the same Spec and keeps the gate
// in its database, one for all processes.
//
// Both are shells around the machine of internal/gates, which decides who is
// next and knows neither clock nor lock.
package gate
