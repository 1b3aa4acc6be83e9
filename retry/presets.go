package retry

import "time"

// Ready-made policies. They are variables only because Go has no constants of
// struct type: copy one and change the copy, never the variable.
var (
	// Never is one attempt: the first failure is the last.
	Never = Policy{MaxAttempts: 1}

	// Standard suits most remote calls: a handful of attempts within five
	// minutes.
	Standard = Policy{
		MaxAttempts: 5,
		Backoff:     Exponential(time.Second, 2, time.Minute),
		Within:      5 * time.Minute,
	}

	// Aggressive retries soon and often, for a short time: for cheap calls
	// that a caller waits for.
	Aggressive = Policy{
		MaxAttempts: 10,
		Backoff:     Exponential(100*time.Millisecond, 1.5, 10*time.Second),
		Within:      time.Minute,
	}

	// Conservative retries seldom, for calls that are expensive for the dependency.
	Conservative = Policy{
		MaxAttempts: 3,
		Backoff:     Exponential(5*time.Second, 2, 5*time.Minute),
		Within:      15 * time.Minute,
	}

	// Infinite never gives up.
	Infinite = Policy{
		MaxAttempts: Unlimited,
		Backoff:     Exponential(time.Second, 2, time.Minute),
		Within:      Forever,
	}

	// Quick is three attempts with short waits, for calls in process.
	Quick = Policy{
		MaxAttempts: 3,
		Backoff:     Exponential(100*time.Millisecond, 2, 30*time.Second),
	}
)
