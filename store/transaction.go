package store

import "context"

// Transaction is a database as a client sees it inside a transaction that is not
// the store's to end. What its verbs do becomes true when that is committed, with
// everything else that it does, and never if it is not. Listeners are told then.
//
// A verb that returns an error has left nothing, and the transaction can go on,
// unless the database itself ended it: a verb that a conflict refused is no reason
// to give up the rest.
//
// A transaction may stay open for long. Until it ends, whoever else wants a workflow
// ID that it took waits, and nobody else does: a Commit with a turn that would have to
// wait returns an *UnavailableError for that turn, and writes the others.
//
// Its verbs are as safe for concurrent use as the transaction is.
type Transaction interface {
	// Create is Client.Create. A run that has the workflow ID and that the transaction
	// cannot see, because it reads as of an earlier moment, is an error of the
	// database that says so: the transaction has to be done again.
	Create(ctx context.Context, run Run) error

	// Post is Client.Post. It sees the runs that the transaction created.
	Post(ctx context.Context, message Message) error

	// Find is Reader.Find, as the transaction sees it.
	Find(ctx context.Context, partition int, workflowID, run string) (*Run, error)
}
