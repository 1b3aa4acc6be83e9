package store

import "context"

// Transaction holds the verbs of a client inside a transaction that the caller ends.
// Their effects become visible with its commit, together with the caller's own
// writes; listeners are notified then. After a rollback they never happened.
//
// A verb that returns an error wrote nothing. The transaction can continue unless the
// database itself ended it.
//
// A transaction may stay open for long. Until it ends, others that want a workflow ID
// it took wait, and only they do: a Commit with such a turn returns an
// *UnavailableError for that turn and writes the others.
//
// Its verbs are as safe for concurrent use as the transaction is.
type Transaction interface {
	// Create is Client.Create. If the workflow ID belongs to a run that the transaction
	// cannot see, because it reads an earlier snapshot, the database's error says so:
	// the caller repeats the transaction.
	Create(ctx context.Context, run Run) error

	// Post is Client.Post. It sees the runs that the transaction created.
	Post(ctx context.Context, message Message) error

	// Find is Reader.Find, as the transaction sees it.
	Find(ctx context.Context, partition int, workflowID, run string) (*Run, error)
}
