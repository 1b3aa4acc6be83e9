// Package dbosgo is DBOS Transact for Go, durable workflows as a library, as a system under
// test, on SQLite and on PostgreSQL. A step is a row that is committed by itself.
//
// Its settings are its defaults but for one: on SQLite it opens files with
// synchronous=NORMAL, which syncs no commit, and here with FULL, as the other systems. So it
// gets a handle of its own, with its other pragmas and the limits of its pool.
//
// It is no system.Retrier: the jitter of its backoff cannot be switched off, and an attempt
// begins before its time is over.
package dbosgo
