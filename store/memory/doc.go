// Package memory keeps a perdure database in memory: for tests, and for
// programs whose runs need not outlive the process.
//
// The data belong to the *Database that New returns, not to the handles that its Open returns.
// A test that closes or kills an engine can open another one on the same Database, which finds
// everything the first one committed:
//
//	db := memory.New()
//	first, _ := db.Open(ctx)
//	...
//	first.Close()
//	again, _ := db.Open(ctx) // the same runs
//
// Several handles may be open, like those of several processes on a server, and a node may
// join through each. Closing a handle has the effect of the death of a process: its node
// remains until its lease expires or another node supersedes it.
//
// The package obeys the same contract and passes the same suite as the stores on disk. Where
// several nodes are concerned it is the model for them. It works under testing/synctest: it
// starts no goroutine, holds no lock while a hook runs, and gets the time from package time. A
// hook gets nil, because there is no transaction to write to.
package memory
