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
// Several handles may be open at once, as an engine and its clients would be
// on a file. Only one of them can Join.
//
// The package obeys the same contract, and passes the same suite, as the
// stores on disk. It works under testing/synctest: it starts no goroutine,
// holds no lock while a hook runs, and takes the time from the time package.
// A hook receives nil, because there is no transaction to write to.
package memory
