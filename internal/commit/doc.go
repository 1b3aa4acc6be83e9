// Package commit makes turns durable: all that are ready at a moment in one transaction
// (group commit), so that the price of a transaction is shared.
//
// # What can happen to a turn
//
//   - It is durable: Commit returns nil.
//   - The store refuses it: another node owns its partition, another turn has its number, or
//     its hook failed. Commit returns the store's error. Other turns of the group are not
//     affected.
//   - The database is unavailable, or its reply was lost. The group is committed again with
//     the same bytes until there is a result. A turn that is durable already is recognized by
//     the store, or by its run being gone: retention deletes runs that a turn has closed.
//   - The database cannot take the group, for example because it refuses a value. The group is
//     halved until the culprit is alone. The culprit gets the error; the others commit.
//   - It waits for a transaction that is not the engine's, such as one in which a user
//     started a run under the same workflow ID. Such a turn is blocked: it is retried apart
//     from all others, which do not wait for it (waiting.go).
//   - Its hook, a user's function that runs inside the transaction, would exceed the time of
//     the group. Its turn is postponed to the next group (waiting.go).
//
// A store may have several commit domains, such as servers. Turns of each domain have a lane
// of their own (commit.go), and so have turns with messages for another domain, which concern
// both. So a domain that is unavailable holds up only the turns that concern it.
//
// # Order
//
// Turns of different runs commit in any order. A run has one turn in flight: its owner
// waits for Commit before it makes the next.
//
// # Decisions
//
//   - A caller's transaction holds its workflow IDs. Uniqueness inside a transaction means
//     that other starts under the same ID wait, and only these. The store waits for such a
//     lock a few milliseconds, then commits the group turn by turn and reports the blocked
//     turn, which the committer retries apart. The caller's transaction locks no row of a
//     partition or node.
//   - One group commits at a time. The next one gathers meanwhile: the goroutines of its runs
//     make its turns. A second committer was measured again once groups were closed as below:
//     half as many turns a commit, an eighth more CPU on both databases, a third more bytes on
//     SQLite.
//   - A group closes when only its committer could run. Before that, the committer yields to
//     goroutines that are ready, because many of them are about to enqueue a turn. If the
//     processors are busy, groups become larger by a third to a half and fewer bytes are
//     written. If they are idle, no turn waits.
package commit
