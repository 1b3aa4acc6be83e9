// Package copying copies a database into another one, over the contract of stores, and runs
// into files and back.
//
// The source is closed before its first row is read, and the target before its first row is
// written; both are told where the other one is. What a copy has done so far is noted in the
// target, in the transaction that writes the rows. So a process that dies at any moment loses
// nothing and doubles nothing: the next one continues from the note.
//
// # What changes on the way
//
// Rows go as they are stored, but for what belongs to the place:
//
//   - The partition is where the target places the workflow ID (entity.Place).
//   - Turns get store.CopiedEpoch, because epochs are of owners, and the owners stay behind.
//   - All runs are at home, and one whose attempts were in flight is loaded at once: it loses
//     them for the reason retry.ReasonCopied, and makes them again.
//   - Messages get new numbers in their old order.
//   - Counters of partitions that become one are added up.
//
// Nodes, workers, owners, and the books of runs whose code is tried stay behind: they say what
// processes did that serve the other database.
//
// # What is compared
//
// A Sum is independent of the order of rows. That of counters is linear, so it does not
// change when rows are added up. The sums of what was written are compared with those of what
// the target returns in the end, before it opens.
package copying
