// Package store is the contract between the engine and a database.
//
// A database keeps runs (one row each), their history (one row a turn, opaque
// bytes), the calls that wait for something (one row each, so that they are
// found without replaying a run), the ledger of attempts, and an inbox of
// messages per partition. The engine owns the meaning of all bytes; a store
// only sees keys, wake times and states.
//
// The contract is small on purpose: every verb is a whole transaction. What
// makes the engine safe is in two rules that every store keeps.
//
// Fencing: a Commit compares the epoch of each turn with that of its partition
// inside the transaction, so that a node which lost a partition can never write
// to it again.
//
// Idempotence: the same turn committed twice is committed once. The engine
// answers a lost reply by asking again.
//
// The conformance suite in storetest proves both, and the rest of the contract,
// for every store.
package store
