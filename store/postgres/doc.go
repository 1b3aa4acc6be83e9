// Package postgres keeps a perdure database in PostgreSQL, version 14 or later.
// Any number of engines, on any number of machines, serve it together.
//
//	eng, err := perdure.Open(ctx, postgres.URL(os.Getenv("DATABASE_URL")), ...)
//
// The tables are in a schema of their own, "perdure" unless Schema names
// another, which Open creates and migrates. They are meant to be read in psql
// too: see migrations/0001_initial.sql. Opaque bytes are text wherever they are
// text; where they are not, a cast to bytea shows them.
//
// # Partitions, owners, epochs
//
// Every run belongs to a partition, and every key begins with it. A partition is
// a row with an epoch and the node that owns it. A commit locks the rows of its
// partitions FOR SHARE and compares their epochs, in the statement before its
// writes; claiming, releasing or freeing a partition locks its row FOR
// UPDATE. So a takeover waits for commits that are under way and shuts out all
// later ones, and commits never wait for each other. Rows are locked in the order
// of their numbers, and rows of nodes before those of partitions, so that nobody
// waits in a circle. A renewal touches the node's own row and nothing else.
//
// All times are the server's: nodes compare no clocks. Should another server
// with a slower clock take over, no process sees time go back; what it knew of
// the time is written down with its renewals, and handed on with the partition.
//
// # Commits
//
// The usual group of turns is one round trip: BEGIN, the fence, one statement
// for each kind of row with an array for each column, COMMIT. What has no rows
// is left out. The client decides nothing in between: a statement that finds
// something unusual raises an error. Then the group is written again with care.
// One query finds out which of the turns are durable, fenced or stale, and what
// remains is written together or, if need be, one by one in savepoints, so that
// every turn gets its own answer. A turn with a hook has a transaction of its
// own.
//
// If the answer is lost, by a cut connection or a crash of the server, the verb
// returns an UnavailableError, and the engine asks again with the same bytes:
// what is durable is recognised. That is so for everything that the server, the
// network or a failover may do; only what the server says about the data of a
// statement is final. Transactions that lose against others (deadlocks,
// serialization failures) are begun again here, a few times.
//
// # Connections
//
// URL makes a pool that is set up as Tune describes: planner settings that keep
// the statements on indexes from the first row to the hundred-millionth, and
// limits after which a dead connection is given up on both sides. Several hosts
// may be named; the one that can write is chosen, also after a failover. Listen
// has a connection of its own. Pool takes a pool that is there already.
//
// Through a pooler in transaction mode, say Pooled. Then nothing needs a session:
// no prepared statements, no settings but SET LOCAL's, no advisory locks (there
// are none in any mode), and Listen polls two sequences. Engines that go through
// a pooler and others that do not may share a database.
//
// Notifications are sent right behind the transaction they tell of, in the same
// round trip, not in it: PostgreSQL commits one notifying transaction at a time,
// in all of the database, and would flush them to the disk one by one.
//
// # Distributed databases
//
// Citus may keep the tables of runs on several servers, by partition (Distributed). What
// is said above about owners holds unchanged, as their tables stay with the coordinator:
// a commit locks its partitions there, in the transaction that writes to a worker. Each
// statement that writes is then for one partition, and the store has a second form of
// those that on one server take the rows of several. Open finds out which form is right.
//
// # Hooks
//
// The hook of a turn receives a pgx.Tx, a savepoint in the transaction of the
// commit. Its end is not the hook's to decide, whose error does: after Commit or
// Rollback by the hook the turn is refused. The transaction must not be used
// when the hook has returned, and no method of the Store may be called inside
// one. Its statements have a timeout (store.HookLimit), and a hook that lets its
// transaction wait longer than the lease (at most four seconds) for the next statement is cut off: it holds a lock
// on its partition. The connection of a hook that was left behind is given up.
//
// # Transactions of others
//
// Within takes a pgx.Tx or a *sql.Tx of any connection to the same database, which its
// secret tells; what it writes there is in a savepoint. The user of that connection
// needs USAGE on the schema and its sequences and SELECT, INSERT and UPDATE on its
// tables. The notification is part of such a transaction, so it may not be prepared
// (two-phase commit), and those that notify are committed one after the other.
//
// Such a transaction keeps its workflow IDs locked for as long as it is open, but no
// row of a partition or a node. Our statements give a lock up after some milliseconds:
// see store.Transaction for what becomes of who wants the same ID.
//
// # Looking after the tables
//
// Turns and attempts are only inserted, and pruned attempts deleted. The rows of
// runs, calls and the inbox change; their tables are set to be vacuumed early.
// What waits (runs with a wake time, calls, messages) is found by indexes that
// hold nothing else, so that the cost of a step does not grow with what is
// finished.
package postgres
