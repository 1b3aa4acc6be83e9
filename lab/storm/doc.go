// Package storm is a laboratory for retry storms. It lets thousands of tasks call
// a dependency that goes down, slows down or is too small, retries them by a
// policy, and reports what that did to the dependency and to the tasks: how high
// the load rose, how many calls were for nothing, how long it took until all was
// well again.
//
//	report, err := storm.Run(storm.Scenario{
//		Tasks:      100_000,
//		Over:       2 * time.Minute,
//		Policy:     chargePolicy, // the policy under test
//		Dependency: storm.Server{Capacity: 100, Work: 50 * time.Millisecond, Queue: 1000},
//		Faults:     []storm.Fault{storm.Outage(30*time.Second, 90*time.Second)},
//	})
//	if report.PeakAfter > 5000 { ... }
//	fmt.Print(storm.Table(report))
//
// # What is real and what is not
//
// Time is simulated: nothing sleeps, no task has a goroutine, and a hundred
// thousand tasks take a second or two. A scenario draws everything from its seed,
// in integers where the result could depend on the machine, so it has one report.
//
// The judgement is real. After each failed attempt the laboratory asks
// retry.Decide, as every runner does, with the policy as it is: attempts, backoff,
// jitter, timeouts, Within, rules by error type, delays that the server asks for.
// A gate is the machine that the gates in process and in the engine are made of:
// its slots, rate, budget and breaker decide here as they do there. It is one gate
// for all tasks, as in one process or in the engine.
//
// The dependency is a model. A [Server] has a capacity and a queue, fails by a
// script of faults, and continues to work for callers who have given up. A
// [Contended] row has no limit but lets one of those that read the same version
// win. It has no network, except where a type says so, and an engine adds no
// time of its own.
//
// # What the figures mean
//
// A call is an attempt that reaches the dependency. A call is wasted if it did
// not end its task with a success. The load of a second is the number of calls
// that came in it; the peak after recovery is the one that a dependency meets
// when it has just come back, and the drain time is how long it then takes until
// the last task is done.
package storm
