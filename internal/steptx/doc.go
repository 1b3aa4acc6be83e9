// Package steptx runs functions of users inside a transaction of the store: those passed to
// activity.OnCommit, and those passed to perdure.Transact.
//
// Other work waits for such a transaction, so a function has store.HookLimit. One that
// ignores the end of its context is abandoned on its goroutine, and the store takes the
// transaction away from it.
//
// # Decisions
//
//   - A step transaction has three seconds, because others wait for SQLite's only writer
//     or a partition's row. After that its statements are canceled and the attempt fails.
//     On PostgreSQL turns with a step transaction commit beside the groups; on SQLite they
//     commit in a savepoint, for at most a quarter of a second per group.
package steptx
