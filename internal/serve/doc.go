// Package serve runs attempts that are offered in queues: it claims them, runs their
// bodies, tells their runs how they ended, and shows signs of life.
//
// An attempt in a queue is a row (store.Task) that only the owner of its run writes and
// removes. A Server makes it its own for the time of its lease. What it says of the attempt
// goes to the inbox of the run, in the transaction that ends its hold on the row: if the
// owner gave the attempt up meanwhile (it timed out, was canceled or lost) the row is gone,
// and nothing is said. A body whose row is gone is canceled with ErrGivenUp as the cause.
//
// # Decisions
//
//   - One goroutine claims and looks after what is held, so that what it finds held and
//     does not know is what it was not told of, because the answer of a claim was lost:
//     that is given back.
//   - An outage of the database cancels no body. It cannot be known then whether another
//     worker runs the attempt; nor can its owner give it to one.
//   - A slot of the process and one of the queue are taken before the claim: what is
//     claimed runs.
package serve
