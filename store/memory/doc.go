// Package memory keeps a perdure database in memory: for tests, and for
// programs whose runs need not outlive the process.
//
// The data belong to the *Database that New returns, not to the handles that
// its Open gives out. An engine that was closed, or that a test killed, is
// opened again on the same Database and finds everything it had committed:
//
//	db := memory.New()
//	first, _ := db.Open(ctx)
//	...
//	first.Close()
//	again, _ := db.Open(ctx) // the same runs
//
// Several handles may be open, as those of several processes would be on
// a server, and a node may join through each. Closing a handle is what the death
// of a process is to a server: its node stays until its lease has run out, or
// until another node supersedes it.
//
// The package obeys the same contract, and passes the same suite, as the
// stores on disk; where several nodes are concerned it is the model for them. It
// works under testing/synctest: it starts no goroutine, holds no lock while a
// hook runs, and takes the time from the time package. A hook receives nil,
// because there is no transaction to write to.
package memory
