// Package request is the client side of perdure: it starts runs, sends them messages and
// waits for the results. A Client needs only the database. The same code runs in processes
// that serve runs and in processes that do not.
//
// A request is a row: a run, or a message in the inbox of a run, a gate or a schedule. Its
// key or ID makes repeated requests count once. When a verb returns without an error, its
// row is durable, and the owner of the partition acts on it.
//
// Some verbs also wait for an answer: the end of a run, the reply to a query, an event of
// the run's history. Client.await is the one loop for that. It looks in the database, then
// again after a growing pause or a notification. An answer therefore survives the death of
// the node that gave it, and a lost notification only costs time.
//
// Local is what an engine in the same process does faster than the database: it creates a
// run together with its first turn, and knows which runs are in memory. A Client also works
// without one.
//
// check.go checks all arguments: nothing reaches a row without it.
//
// # Decisions
//
//   - Operations on runs go to the workflow ID, so a run that continues as new quickly
//     is still reached; the IDs of applied operations travel along the chain.
//   - Reusing a workflow ID is a compare-and-set. A new chain names the run it follows;
//     the database accepts it only if that run is the latest and closed.
package request
