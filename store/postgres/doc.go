// Package postgres keeps a perdure database in PostgreSQL, version 14 or later.
// Any number of engines, on any number of machines, serve it together.
//
//	eng, err := perdure.Open(ctx, postgres.URL(os.Getenv("DATABASE_URL")), ...)
//
// The tables are in a schema of their own, "perdure" unless Schema names another, which
// Open creates and migrates. People may read them in psql: see
// migrations/0001_initial.sql. Opaque bytes are text wherever they are text; where they
// are not, a cast to bytea shows them. perdure.run_id and run_bytes turn run IDs into text and back.
//
// # Partitions, owners, epochs
//
// Every run belongs to a partition, and every key begins with it. A partition is a row with
// an epoch and the node that owns it. A commit locks the rows of its partitions FOR SHARE
// and compares their epochs, in the statement before its writes. Claiming, releasing or
// freeing a partition locks its row FOR UPDATE. A takeover therefore waits for commits in
// progress and shuts out all later ones, and commits never wait for each other. Rows are
// locked in the order of their numbers, and rows of nodes before those of partitions, so
// locks cannot deadlock. A renewal touches only the node's own row.
//
// All times are the server's: nodes compare no clocks. If another server with a slower clock
// takes over, no process sees time go back. A node records the time that it has seen with
// its renewals, and hands it on with the partition.
//
// # Commits
//
// The usual group of turns is one round trip: BEGIN, the fence, one statement for each kind
// of row with an array for each column, COMMIT. Statements without rows are omitted. The
// client decides nothing in between: a statement that finds something unusual raises an
// error. The group is then written again with care. One query finds out which of the turns
// are durable, fenced or stale. The rest is written together or, if need be, one by one in
// savepoints, so that every turn gets a result of its own. A turn with a hook has a
// transaction of its own.
//
// If the answer is lost, by a cut connection or a crash of the server, the verb returns an
// UnavailableError, and the engine repeats it with the same bytes; durable turns are
// recognized. The same holds for every failure of the server, the network or a failover.
// Only the server's verdict on the data of a statement is final. Transactions that lose
// against others (deadlocks, serialization failures) are retried here a few times.
//
// # Connections
//
// URL makes a pool that is set up as Tune describes: planner settings that keep the
// statements on indexes from the first row to the hundred-millionth, and limits after which
// both sides give up a dead connection. The URL may name several hosts; the one that can
// write is chosen, also after a failover. Listen has a connection of its own. Pool takes an
// existing pool.
//
// For a pooler in transaction mode, use Pooled. Nothing then needs a session: there are no
// prepared statements, no settings except SET LOCAL's, and no advisory locks (which no mode
// uses), and Listen polls two sequences. Engines with and without a pooler may share a
// database.
//
// Notifications are sent right after the transaction that they announce, in the same round
// trip but not inside it: PostgreSQL commits one notifying transaction at a time in the
// whole database, and would flush them to disk one by one.
//
// # Distributed databases
//
// Citus may keep the tables of runs on several servers, by partition (Distributed). Owners
// work as described above, because their tables stay with the coordinator: a commit locks
// its partitions there, in the transaction that writes to a worker. Each statement that
// writes is then for one partition. The store has a second form of the statements that on
// one server take the rows of several partitions. Open finds out which form applies.
//
// # Hooks
//
// The hook of a turn receives a pgx.Tx, a savepoint in the transaction of the commit. Its
// method As gives a *sql.Tx on the same connection, as on SQLite, with pgx's values. The
// hook's error decides how it ends: if the hook calls Commit or Rollback, the turn is
// refused. The transaction must not be used after the hook has returned, and no method of
// the Store may be called inside a hook. Its statements have a timeout (store.HookLimit). A
// hook whose transaction waits longer than the lease (at most four seconds) for the next
// statement is cut off, because it holds a lock on its partition. The connection of an
// abandoned hook is closed.
//
// # Transactions of others
//
// Within takes a pgx.Tx or a *sql.Tx of any connection to the same database, which it
// verifies by the database's secret. Its writes there are in a savepoint. The user of that
// connection needs USAGE on the schema and its sequences, and SELECT, INSERT and UPDATE on
// its tables. The notification is part of such a transaction. Therefore the transaction
// cannot be prepared (two-phase commit), and notifying transactions are committed one after
// the other.
//
// Such a transaction keeps its workflow IDs locked while it is open, but no row of a
// partition or a node. The store's own statements give up waiting for a lock after some
// milliseconds: see store.Transaction for what callers that want the same ID get.
//
// # Looking after the tables
//
// Turns and attempts are only inserted, and pruned attempts deleted. The rows of runs, calls
// and the inbox change; their tables are set to be vacuumed early. What waits (runs with a
// wake time, calls, messages) is found by indexes that hold nothing else, so that the cost
// of a step does not grow with the number of closed runs.
package postgres
