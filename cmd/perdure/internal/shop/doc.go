// Package shop is the real work of perdure demo: orders to fulfil, and a party
// to fulfil them with that cannot be relied on.
//
// The orders are read by [ReadOrders] from CSV or JSON; a malformed one is
// reported as a [Fault] with its line and the others go on. A file of 300 orders
// comes with the package ([SampleOrders]).
//
// The other party is a [Service], an http.Handler that the demo runs in a
// process of its own with [Serve]. It reserves goods, charges cards, ships and
// notifies, and does so the way real services do it on a bad day: it answers 429
// and 503, resets connections before or after the work is done, hangs, is slow,
// has a capacity, is away for a few seconds, and declines some cards for good. A
// [Behaviour] says how often; which request meets which fate follows from a seed
// and the number of the request, so that a bad day can be repeated.
//
// What the service did is in its [Book], kept in memory and in a journal file,
// one line a request, synced to the disk before the effect is answered. The book
// is the independent witness of the demo: it counts an effect once for each
// idempotency key, however often the key arrives, and it shows two charges for
// an order if a client ever made two. GET /book asks for it ([ReadBook]).
//
// [Post] is the client's side: one request, no hidden retries, and an error of
// its own type for each way it can fail.
package shop
