// Package codec encrypts, compresses and offloads what an engine writes into its database.
//
// Wrap the store, in every process that opens the database:
//
//	keys, err := codec.AES("2026-11", map[string][]byte{"2026-11": key})
//	db := codec.Over(sqlite.File("shop.db"), codec.Compress(1024), keys)
//	eng, err := perdure.Open(ctx, db, perdure.Register(Checkout, Charge))
//
// Whatever the engine writes as a document passes through the codecs, in their order, and
// back when it is read: inputs, results, signals, updates, queries and their answers, memos,
// heartbeats, side effects, the messages, data and stacks of errors, reasons that people
// give, schedules, what runs are told and have not read. Documents that are there already,
// written without codecs or with others, are read as they are.
//
// # What stays readable
//
// Columns do, because databases search them: IDs of workflows and runs, names of workflows,
// activities, signals and queues, attributes, states, times, counts, and the types and
// reasons of errors in the ledger, which policies are tried on. So do trace parents and who did something (by). A program
// without the codecs sees this too: each document has a face, which is the document with
// "encrypted, key 2026-11, 312 bytes" in the place of every value and text. Do not put
// secrets into names, IDs or attributes.
//
// # What is not decoded
//
// A run of which a document cannot be decoded, because a key or a blob is missing, is
// parked with a reason that names it. It has not failed, and others go on. It goes on when
// an engine starts that has the key or the blob.
package codec
