// Package sqlite keeps a perdure database in one SQLite file, without a C
// compiler.
//
//	eng, err := perdure.Open(ctx, sqlite.File("shop.db"), ...)
//
// One engine serves a file at a time. Join takes an operating-system lock on a file beside
// the database (shop.db.lock), which names its holder. The lock ends with its process, so
// after kill -9 another engine can start immediately. Meanwhile any number of clients, in
// this process or in others on the same machine, may read the file, create runs and post
// messages.
//
// A node therefore needs no lease, and supersedes all earlier nodes: a node that joins has
// the lock, so the previous holder is dead, because its process died or its store was closed
// without leaving. Until then the tables list a killed node as live; Nodes also checks the
// lock. A group has one partition.
//
// # Durability
//
// The file is in WAL mode with synchronous=FULL: a commit is on disk before it returns.
// Durability(Normal) gives that up for speed.
//
// # How it works
//
// One connection writes; it is passed from writer to writer in Go. A few others only read
// and never wait for it. A Commit is one transaction: it checks the epochs, moves the clock
// if it is a second behind, inserts the history of all plain turns with many rows per
// statement, and uses a savepoint only for turns that need one (hooks, and runs that follow
// another in a chain). If anything is unusual (a durable or stale turn, a run that does not
// exist), the transaction is rolled back and repeated turn by turn, so that every turn gets
// a result of its own.
//
// Writes of other processes are noticed through PRAGMA data_version, polled every 20 ms on
// the writing connection, for which it changes only when another connection wrote. Writes of
// the same process are announced directly.
//
// The tables are meant to be read in the sqlite3 shell too: see migrations/0001_initial.sql.
//
// # The log
//
// A commit that lengthens the write-ahead log takes up to twice as long to sync as one that
// overwrites it. After the first checkpoint, at 8,000 pages, all commits overwrite. Until
// then small commits find space allocated ahead of them: zeros, written within a write
// transaction, in which SQLite sees the end of the log. An open file may therefore have a
// log of 33 MiB (writelog.go).
//
// # Hooks
//
// The hook of a turn receives a *sql.Tx on the writing connection, in the transaction of the
// commit, inside a savepoint of its own. The hook must not commit it or roll it back; its
// error decides. Nor may it leave anything on the connection, such as a setting (PRAGMA) or a
// temporary table: such statements are refused. No method of the Store may be called inside a hook, because the writer is
// taken. Statements that run when the hook's time (store.HookLimit) is up are interrupted.
//
// # Transactions of others
//
// Transact lends the writing connection in the same way, without a turn. Within takes the
// *sql.Tx of either, and no other: a second connection could not write meanwhile.
//
// # Decisions
//
//   - SQLite lends its writer, because a second connection could only wait for it. Store
//     verbs reach the lent connection as the argument of a statement, so database/sql itself
//     guarantees that its transaction is open and unused.
package sqlite
