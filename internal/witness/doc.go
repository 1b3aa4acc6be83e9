// Package witness is what all share that kill, stop and cut off real processes: the tests in
// internal/killtest and internal/clustertest, and perdure torture. It is not about how a
// process is hurt (package torture), but about what must hold whatever was done to it.
//
//	book.go     the book of effects, kept by the parent process, which nobody hurts
//	pen.go      how a worker process writes into it
//	narrow.go   workflows that pass gates, and whether the gates kept their limit
//	queued.go   workflows whose calls are in a queue, and whether its limits were kept
//	bank.go     workflows that write to a table in step transactions, and what it holds
//	paid.go     workflows that pay a provider without idempotency keys, which loses answers
//	route.go    a workflow of which two builds have different versions
//	shapes.go   workflows whose activities tell the book what they do
//	jobs.go     a client that starts them, signals, cancels, and checks results
//	load.go     many such clients at a time
//	verdict.go  the book held against what the engine has on record
//	finding.go  what must not be, and how much was done
//
// The book is a witness besides the engine's own records: every body of an
// activity writes to it before and after its work, and is answered when the entry
// is there.
package witness
