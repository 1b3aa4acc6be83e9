// Package perduretest tests durable workflows in virtual time, with failures and crashes.
//
//	func TestCheckout(t *testing.T) {
//		t.Parallel()
//		perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
//			env.Register(Checkout)
//			charge := perduretest.Mock(env, Charge, func(ctx context.Context, o Order) (Payment, error) {
//				return Payment{Receipt: "r-1"}, nil
//			})
//			env.Inject(Charge, perduretest.Fail(errDown), perduretest.Attempts(1, 2))
//			env.After(24*time.Hour, env.Crash)
//
//			receipt, err := perduretest.Run(env, Checkout, "order-17", order)
//			...
//			env.ExpectAttempts("order-17", Charge, "failed", "failed", "completed")
//			env.ExpectDelays("order-17", Charge, time.Minute, 2*time.Minute)
//		})
//	}
//
// # Virtual time
//
// The test function runs in a bubble of testing/synctest. Time passes when everything in
// it waits: a workflow that sleeps for a month, or an activity in backoff for a day,
// takes milliseconds. So do time.Sleep and time.After in the test itself. Nothing in the
// bubble may wait for anything outside it, such as a network connection: use fakes in
// activities. Tests may run in parallel: call t.Parallel before Test, not inside.
//
// # Activities
//
// Env.Register takes the definitions that a program registers; put fakes of services into
// real bodies (Charge.Impl(fake.charge)). Mock replaces the body of one activity, by its
// typed handle, and records its calls: Mocked.Calls, Inputs, Executions. Register child
// workflows, too: with the code of the program, or with a replacement
// (Shipping.Impl(quick)).
//
// Env.Inject makes attempts of an activity or inline step fail, whatever their body is:
// Fail, LoseAnswer, Slow, Hang, Panic, CrashBefore, CrashAfter. It selects them by number
// (Attempts), by workflow ID (Of), by chance (Probability, drawn from Seed), and up to a
// number of times (Times). Fail(retry.After(err, d)) acts like a server that asks for a
// delay.
//
// # Time and messages
//
// Run and Handle.Result wait for the end; Start does not. Signals, queries, Cancel,
// Control and Complete are what people and other programs do meanwhile. The test calls
// them after time.Sleep, or plans them with Env.After.
//
// # Crashes
//
// The process can die at any point: before or after a chosen write to the database
// (Env.At), at an attempt (Env.Inject), at a time (Env.After with Env.Crash). A write can
// also fail, lose its answer, or take long, and the database can be unavailable
// (Env.Outage). After a crash a new engine starts on the same database, as under a
// supervisor, and the functions of this package continue there, as a careful client does.
// EveryWrite tries a fault at every write of a scenario:
//
//	func TestCheckoutSurvives(t *testing.T) {
//		perduretest.EveryWrite(t, perduretest.CrashAfter, func(t *testing.T, env *perduretest.Env) {
//			... // start, wait, compare the result and the effects
//		})
//	}
//
// A crash here cannot end the goroutines of running activities: their contexts are
// canceled, their results are dropped, and they can no longer write to the database. A
// body that ignores its context continues, like a request that left the machine before it
// died.
//
// # What is on record
//
// ExpectCalls, ExpectAttempts, ExpectDelays, ExpectReasons and ExpectNothingPending
// compare what the engine has recorded, and print the record if it differs. ExpectHistory
// compares the whole history with a file. Attempts, History and Describe of a Handle
// return the record as data.
//
// # Replay
//
// The database is a store in memory, and every run is dropped from memory after each turn
// and replayed from its history for the next one. Code that is not deterministic, or
// relies on variables that exist only in memory, fails here and not in production.
// Resident turns this off; Store sets another database.
//
// Replay checks whether changed code, or code with other policies, can continue a history
// that was recorded before, and returns the first difference if not.
//
// # The end
//
// After the test function the engine is stopped. The test fails if goroutines of the
// bubble are left, or if a mock or an injected fault was never used. A failed test prints
// all writes to the database, their faults, and the command that repeats the test. In the
// repetition only the order of goroutines that are ready at the same moment may differ.
package perduretest
