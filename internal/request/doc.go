// Package request is the asking side of perdure: it starts runs, sends them messages
// and waits for what comes of them. A Client needs nothing but the database. It is the
// same code in a process that serves no runs and in one that does.
//
// A request is a row: a run, or a message in the inbox of a run, a gate or a schedule.
// Its key, or its ID, makes asking twice asking once. When a verb returns without an
// error, its row is durable, and whichever node owns the partition acts on it.
//
// Some verbs also wait for an answer: the end of a run, the reply to a query, an event
// of the run's history. Client.await is the one loop for that. It looks in the
// database, and again after a pause that grows or when a notification says that the
// answer may be there. So an answer survives the death of whichever node gives it, and
// a lost notification costs time only.
//
// Local is what an engine in the same process does faster than the database could: it
// creates a run together with its first turn and knows which runs are in memory. A
// Client without one works, too.
//
// check.go holds the bounds of all arguments: whatever reaches a row has passed there.
//
// # Decisions
//
//   - Operations on runs go to the workflow ID, so a run that continues as new quickly
//     is still reached; the IDs of applied operations travel along the chain.
//   - Reusing a workflow ID is a compare-and-set. A new chain names the run it follows;
//     the database accepts it only if that run is the latest and closed.
package request
