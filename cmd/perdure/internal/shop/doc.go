// Package shop is the other party of perdure demo: orders, and a service that
// fulfils them and cannot be relied on.
//
// A [Service] reserves goods, charges cards, ships and notifies, as real services
// do on a bad day: it answers 429 and 503, resets connections before or after the
// work is done, hangs, is slow, has a capacity, is down for a few seconds, and
// declines some cards for good. A [Behaviour] says how often. Which request meets
// which fate follows from a seed and the number of the request, so that a bad day
// can be repeated.
//
// What the service did is in its [Book], which is the independent witness of the
// demo: a file with one line a request, synced to disk before the work is
// answered. It counts an effect once for each idempotency key, however often the
// key arrives, and shows two charges for an order if a client ever made two.
package shop
