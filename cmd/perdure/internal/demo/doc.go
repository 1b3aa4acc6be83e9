// Package demo is perdure demo: orders are fulfilled over HTTP by a program that is
// killed in the middle, more than once.
//
// Two parties take part:
//
//   - the worker ([Worker]): an ordinary program that uses perdure, see worker.go and
//     fulfil.go. It is a process of its own, of the same executable, which is killed
//     and started again. On a PostgreSQL server several share the work, and each kill
//     hits one of them.
//   - the parent ([Run]), which lives through everything: it runs the shop service,
//     which is unreliable and keeps its own book (package shop), starts and kills
//     workers, shows the progress, and at the end compares what the engine says with
//     what the book says.
//
// Everything is kept in one directory: the database of the engine, the book of the
// service, the logs of the workers, and a small file that says how far the demo is. A
// demo that was interrupted continues from there. On a server the database is a schema
// that no other demo uses, and that is never deleted.
package demo
