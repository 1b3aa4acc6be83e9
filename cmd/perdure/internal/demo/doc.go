// Package demo is perdure demo: orders are fulfilled over HTTP by a program that
// is killed in the middle, more than once.
//
// Processes of three kinds take part, all of the same executable:
//
//   - the shop service, which is unreliable and keeps its own book
//     (package shop). It lives through everything.
//   - the worker: an ordinary program that uses perdure, see worker.go and
//     fulfil.go. It is killed and started again. On a PostgreSQL server there are
//     several side by side, a crew (crew.go), and each kill hits one of them.
//   - the parent, in which [Run] runs: it starts the others, kills workers, shows
//     the progress, and at the end holds what the engine says against what the
//     service's book says.
//
// The children live as long as their standard input is open, so that they end
// with the parent, however it ends.
//
// Everything that is kept is in one directory: the database of the engine, the
// book of the service, the orders, the logs, and a small file that says how far
// the demo is. A demo that was interrupted goes on from there. On a server the
// database is a schema that no other demo uses, and that is never deleted.
package demo
