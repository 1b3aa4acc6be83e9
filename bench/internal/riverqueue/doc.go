// Package riverqueue is River, a job queue on PostgreSQL, as a system under test.
//
// A chain is a job that inserts the next one in the transaction that completes
// it, which is how River's documentation advises to make steps durable. There is
// no history and no result but the last job's.
package riverqueue
