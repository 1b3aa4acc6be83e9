// Package serve runs attempts that are offered in queues: it claims them, runs their bodies,
// reports their results to their runs, and renews the worker's lease.
//
// An attempt in a queue is a row (store.Task) that only the owner of its run writes and
// removes. A Server claims it for the time of its lease. What it reports about the attempt
// goes to the inbox of the run, in the transaction that ends its claim. If the owner has given
// up the attempt meanwhile (it timed out, was canceled or lost), the row is gone and nothing
// is reported. A body whose row is gone is canceled with ErrGivenUp as the cause.
//
// # Decisions
//
//   - One goroutine both claims tasks and renews the lease. So a task that the store lists as
//     claimed and that the server does not know is one whose claim's reply was lost. The server
//     gives it back.
//   - An outage cancels only bodies that would be asked about (attempt.leased): until it ends, the
//     server cannot know who runs the others, and their owner cannot offer them to anybody.
//   - The server takes a slot of the process and one of the queue before it claims, so a
//     claimed attempt runs immediately.
package serve
