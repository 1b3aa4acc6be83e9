// Package codec encrypts, compresses and offloads the documents that an engine writes
// into its database.
//
// Wrap the store, in every process that opens the database:
//
//	keys, err := codec.AES("2026-11", map[string][]byte{"2026-11": key})
//	db := codec.Over(sqlite.File("shop.db"), codec.Compress(1024), keys)
//	eng, err := perdure.Open(ctx, db, perdure.Register(Checkout, Charge))
//
// Whatever the engine writes as a document passes through the codecs, in their order, and
// back when it is read: inputs, results, signals, updates, queries and their answers,
// memos, heartbeats, side effects, the messages, data and stacks of errors, reasons that
// people give, schedules, what runs are told and have not read. Documents that were
// written before, without codecs or with others, are read as they are.
//
// # What stays readable
//
// Columns stay readable, because databases search them: IDs of workflows and runs, names
// of workflows, activities, signals and queues, attributes, states, times, counts, and
// the types and reasons of errors in the ledger, which ops.TryPolicy needs. So do trace
// parents and the names of people (by). A program without the codecs can read these, and
// a summary of each document, with "encrypted, key 2026-11, 312 bytes" in place of every
// value and text. Do not put secrets into names, IDs or attributes.
//
// # What is not decoded
//
// If a document of a run cannot be decoded, because a key or a blob is missing, the run
// is parked with a reason that names it. It has not failed, and other runs continue. It
// continues when an engine starts that has the key or the blob.
package codec
