package store

import "context"

// Transaction has the methods of a client inside a transaction that the caller ends. Their
// effects become visible with its commit, together with the caller's own writes; listeners are
// notified then. After a rollback they have no effect.
//
// A method that returns an error wrote nothing. The transaction can continue unless the
// database itself ended it.
//
// A transaction may stay open for long. Until it ends, writes that need a workflow ID it has
// taken wait, and only these: a Commit with such a turn returns an *UnavailableError for that
// turn and writes the others.
//
// A Transaction is as safe for concurrent use as the caller's transaction is.
type Transaction interface {
	// Create is Client.Create. If the workflow ID belongs to a run that the transaction cannot
	// see because it reads an earlier snapshot, Create returns the database's error about that.
	// The caller then repeats the transaction.
	Create(ctx context.Context, run Run) error

	// Post is Client.Post. It sees the runs that the transaction created.
	Post(ctx context.Context, message Message) error

	// Find is Reader.Find, as the transaction sees it.
	Find(ctx context.Context, partition int, workflowID, run string) (*Run, error)
}
