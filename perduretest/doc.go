// Package perduretest tests durable workflows: in virtual time, and through
// crashes.
//
//	func TestCheckout(t *testing.T) {
//		perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
//			env.Register(Checkout, Charge.Impl(fakeGateway))
//			receipt, err := perduretest.Run(env, Checkout, "order-17", order)
//			...
//		})
//	}
//
// # Virtual time
//
// The test function runs in a bubble of testing/synctest. Time passes when
// everything in it waits: a workflow that sleeps for a month, or an activity in
// backoff for a day, takes milliseconds. So do time.Sleep and time.After in the
// test itself. Nothing in the bubble may wait for anything outside of it, a
// network connection for instance: give activities fakes.
//
// # Replay
//
// The database is a store in memory, and every run is dropped from memory after
// every turn and replayed from its history for the next one. Code that is not
// deterministic, or counts on variables that only live in memory, fails here and
// not in production. Resident turns that off, Store brings another database.
//
// # Crashes
//
// Env.At lets the process die at a chosen write to the database, or the write
// fail, lose its answer, or take long; Env.Crash lets it die now. A new engine
// then starts on the same database, as a supervisor would see to, and the verbs
// of this package (Run, Start, Signal, Cancel, Complete, Handle.Result) go on there,
// as a careful client would. EveryWrite does it at every write of a scenario:
//
//	func TestCheckoutSurvives(t *testing.T) {
//		perduretest.EveryWrite(t, perduretest.CrashAfter, func(t *testing.T, env *perduretest.Env) {
//			... // start, wait, compare the result and the effects
//		})
//	}
//
// A crash here cannot end the goroutines of activities that run: their contexts
// are canceled, what they return is dropped, and nothing they do reaches the
// database any more. A body that does not look at its context goes on, like a
// request that left the machine before it died.
//
// # The end
//
// After the test function the engine is stopped, and the test fails if
// goroutines of the bubble are left. A test that failed shows all writes to the
// database, the faults they met, and the command that runs it again. Only the
// order in which goroutines run that are ready at the same moment may differ
// then.
package perduretest
