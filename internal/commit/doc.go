// Package commit makes turns durable: all that are ready at a moment in one transaction
// (group commit), so that the price of a transaction is shared.
//
// # What can happen to a turn
//
//   - It is durable: Commit returns nil.
//   - The store refuses it: another node owns its partition, another turn has its place,
//     its hook failed. Commit returns the store's error; other turns of the group are not
//     affected.
//   - The database is away, or its result was lost. The group is committed again with the
//     same bytes until there is a result; a turn that is durable already is recognised by
//     the store, or by its run being gone: retention removes what a turn has closed.
//   - The database cannot take the group (a value it refuses, for instance). The group is
//     halved until the culprit is alone; the error goes to the culprit, the rest commits.
//   - It waits for a transaction that is not the engine's, such as one in which a user
//     started a run under the same workflow ID. Such a turn is blocked: it is tried again
//     apart from all others, which do not wait for it (blocked.go).
//   - Its hook, a function of a user that runs inside the transaction, would take more
//     than the group's time. Its turn is postponed to the next group (postpone.go).
//
// A store may have several commit domains, such as servers. The turns of each have a lane of
// their own (lane.go), and so have those with messages for another, which concern two: a
// domain that is away keeps waiting what concerns it, and nothing else.
//
// # Order
//
// Turns of different runs commit in any order. A run has one turn in flight: its owner
// waits for Commit before it makes the next.
//
// # Decisions
//
//   - A caller's transaction holds its workflow IDs. Uniqueness inside a transaction
//     means that others who want the same ID wait; only they do. The store waits for
//     such a lock a few milliseconds, then commits the group turn by turn and reports
//     the blocked turn, which the engine retries apart. The caller's transaction locks
//     no row of a partition or node.
//   - One group commits at a time. The next one gathers meanwhile: its turns are made by
//     the goroutines of their runs. A second committer was measured again once groups
//     were closed as below: half as many turns a commit, an eighth more CPU on both
//     databases, a third more bytes on SQLite.
//   - A group closes when its committer would be the only one to work. Before that it
//     lets run who is ready to, for many of these are about to enqueue a turn. Where
//     the processors are busy, groups become larger by a third to a half and fewer bytes
//     are written; where they are idle, no turn waits.
package commit
