// Package store is the contract between the engine and a database.
//
// A database keeps runs (one row each), their history (one row per turn, opaque bytes), the
// calls that wait for something (one row each, so that they are found without replay), the
// ledger of attempts, and an inbox of messages per partition. The engine defines the meaning
// of all bytes; a store only sees keys, wake times and states.
//
// The contract is small on purpose: every verb is a whole transaction. Two rules that
// every store keeps make the engine safe.
//
// Fencing: Commit compares the epoch of each turn with that of its partition inside the
// transaction, so a node that lost a partition can never write to it again.
//
// Idempotence: committing the same turn twice has the effect of once. After a lost reply
// the engine repeats the call.
//
// The conformance suite in storetest tests both rules, and the rest of the contract, for every
// store.
package store
