// Package golden is the table that proves that one policy means one schedule:
// Decide asked by hand, the in-process runner in virtual time and the durable
// engine must all play each case to the same end, with the same waits, to the
// nanosecond.
//
// The table is a text file, retry/testdata/decisions.golden. A case is a policy
// and what happens to the call, attempt by attempt; what must follow is written
// beside it:
//
//	case R2 the first wait is exactly Initial
//	policy {"jitter":{"kind":"none"}}
//	attempt Network              -> retry 1s backoff
//	attempt Network took 20ms    -> retry 2s backoff
//	attempt ok took 5ms
//	starts 0s 1s 3.02s
//	end ok
//
// Left of the arrow is input, right of it and in the lines "starts" and "end"
// is expectation, which `go test ./retry -run Golden -update` rewrites from
// what Decide says. Read the difference before committing it.
//
// # Input
//
// An attempt has an outcome and then, each optional:
//
//	took D        how long it runs; default 0
//	beats D,D,..  when it heartbeats, counted from its start
//	u F           the draw for the jitter; default 0.5
//	denied        the retry budget has nothing left for a retry
//	probe         it is the probe of a circuit breaker
//
// All attempts heed their context: when it is canceled they end with its error.
// An outcome is ok or an error:
//
//	Error              errors.New
//	EOF, Canceled ..   a registered sentinel
//	QueueTimeout       a *retry.TimeoutError of that kind
//	Name               an error whose ErrorType method returns the name
//	Name(X)            the same, wrapping X
//	wrap(X)            fmt.Errorf with %w
//	join(X, Y)         errors.Join
//	terminal(X)        retry.Terminal
//	after(D, X)        retry.After
//	at(D, X)           retry.AfterTime, D after the first schedule
//	panic(X)           the attempt panics with X
//
// A line "cancel at D" cancels the call D after the first schedule; do not let
// it coincide with anything else. A line "engine only" marks a policy that the
// in-process runner must refuse.
//
// # Expectation
//
// Beside a failed attempt stand the action, the delay if there is one, the
// reason and, if a rule decided, its index. "starts" are the times at which the
// attempts start, counted from the first schedule. "end" is one of
//
//	ok
//	exhausted REASON ATTEMPTS      a *retry.ExhaustedError
//	terminal                       the error itself
//	aborted PHASE ATTEMPT          a *retry.AbortedError
//	paused REASON ATTEMPTS         waiting for a person
package golden
