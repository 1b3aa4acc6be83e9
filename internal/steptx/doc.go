// Package steptx runs functions of users inside a transaction of the store: those that
// bodies hand to activity.OnCommit, and those of perdure.Transact.
//
// Others wait for such a transaction, so a function has store.HookLimit. One that
// ignores the end of its context is left behind on its goroutine, and the store takes
// the transaction away from it.
package steptx
