// Package perduretest tests durable workflows: in virtual time, and through
// failures and crashes.
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
// The test function runs in a bubble of testing/synctest. Time passes when
// everything in it waits: a workflow that sleeps for a month, or an activity in
// backoff for a day, takes milliseconds. So do time.Sleep and time.After in the
// test itself. Nothing in the bubble may wait for anything outside of it, a
// network connection for instance: give activities fakes. Tests may run in parallel:
// call t.Parallel before Test, not inside.
//
// # Activities
//
// Env.Register takes what a program registers; fakes of services belong into real
// bodies (Charge.Impl(fake.charge)). Mock replaces the body of one activity, by its
// typed handle, and remembers what it was asked: Mocked.Calls, Inputs, Executions.
// Workflows that others start as children are registered, too: with the code of the
// program, or with another that stands in for it (Shipping.Impl(quick)).
//
// Env.Inject lets attempts of an activity or inline step fail, whatever their body
// is: Fail, LoseAnswer, Slow, Hang, Panic, CrashBefore, CrashAfter; by the number
// of the attempt (Attempts), by workflow (Of), by chance (Probability, drawn from
// Seed), so many times (Times). Errors speak for themselves here too: with
// Fail(retry.After(err, d)) the server says when to come back.
//
// # Time and messages
//
// Run and Handle.Result wait for the end; Start does not. Signal, Query, Cancel,
// Control and Complete are what people and other programs do meanwhile. Between
// them the test sleeps (time.Sleep), or plans them with Env.After.
//
// # Crashes
//
// The process can die at any point: at a chosen write to the database, before it
// or after it (Env.At), at an attempt (Env.Inject), at a time (Env.After with
// Env.Crash). A write can also fail, lose its answer, or take long, and the database
// can be away (Env.Outage). A new engine then starts on the same database, as a
// supervisor would see to, and the verbs of this package go on there, as a careful
// client would. EveryWrite does it at every write of a scenario:
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
// # What is on record
//
// ExpectCalls, ExpectAttempts, ExpectDelays, ExpectReasons and ExpectNothingPending
// compare what the engine has recorded, and show all of it where it differs.
// ExpectHistory compares the whole history with a file. Env.Attempts, Env.History
// and Env.Describe return it as data.
//
// # Replay
//
// The database is a store in memory, and every run is dropped from memory after
// every turn and replayed from its history for the next one. Code that is not
// deterministic, or counts on variables that only live in memory, fails here and
// not in production. Resident turns that off, Store brings another database.
//
// Replay asks whether changed code, or code with other policies, can go on with a
// history that was recorded before, and says where it first differs if not.
//
// # The end
//
// After the test function the engine is stopped, and the test fails if
// goroutines of the bubble are left, or if a mock or an injected fault was for
// nothing that ran. A test that failed shows all writes to the
// database, the faults they met, and the command that runs it again. Only the
// order in which goroutines run that are ready at the same moment may differ
// then.
package perduretest
