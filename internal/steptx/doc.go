// Package steptx runs functions of users inside a transaction of the store: those that
// bodies hand to activity.OnCommit, and those of perdure.Transact.
//
// Others wait for such a transaction, so a function has store.HookLimit. One that
// ignores the end of its context is left behind on its goroutine, and the store takes
// the transaction away from it.
//
// # Decisions
//
//   - A step transaction has three seconds, because others wait for SQLite's only writer
//     or a partition's row. Its statements are then cancelled and the attempt has
//     failed. On PostgreSQL such turns commit beside the groups; on SQLite in a
//     savepoint, for at most a quarter of a second per group.
package steptx
