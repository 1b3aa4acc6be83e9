// Package storetest is the conformance suite of the store contract. Every store
// runs it in its own tests:
//
//	func TestContract(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Opener {
//			return sqlite.File(filepath.Join(t.TempDir(), "test.db"))
//		})
//	}
//
// Run checks the sentences of the contract one by one: with several nodes if the
// store is shared, whose leases are then awaited in real time, and never taken to
// be over before the database says so. Clock checks what needs a clock that the
// test controls. Lockstep plays random operations against two stores and demands
// the same answers of both.
package storetest
