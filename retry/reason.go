package retry

// Reason says why an attempt was followed by what followed it. Its text is
// stable: the ledger, user interfaces, logs and metrics show it as it is.
type Reason string

// Why another attempt follows.
const (
	// ReasonBackoff: after the wait that the policy's backoff and jitter give.
	ReasonBackoff Reason = "backoff"
	// ReasonImmediate: immediately, because the backoff gives no wait.
	ReasonImmediate Reason = "immediate"
	// ReasonServerDelay: after the wait that the error asked for (see After).
	ReasonServerDelay Reason = "server_delay"
)

// Why no further attempt follows, in the order in which they are judged.
const (
	// ReasonCanceled: the call was canceled, or the error is a cancellation.
	ReasonCanceled Reason = "canceled"
	// ReasonTerminal: the error was marked with Terminal.
	ReasonTerminal Reason = "terminal"
	// ReasonStopRule: a Stop rule names the error's type.
	ReasonStopRule Reason = "stop_rule"
	// ReasonNonRetryable: NonRetryable names the error's type.
	ReasonNonRetryable Reason = "non_retryable"
	// ReasonTimeout: the attempt timed out and OnTimeout is StopOnTimeout.
	ReasonTimeout Reason = "timeout"
	// ReasonNotRetryable: Retryable does not name the error's type.
	ReasonNotRetryable Reason = "not_retryable"
	// ReasonMaxAttempts: all attempts are used up.
	ReasonMaxAttempts Reason = "max_attempts"
	// ReasonWithin: the next attempt would start after the time of Within.
	ReasonWithin Reason = "within"
	// ReasonBudget: the retry budget has nothing left.
	ReasonBudget Reason = "budget"
	// ReasonBreaker: the circuit breaker of a gate is open. It is found when
	// the attempt would start, after Decide.
	ReasonBreaker Reason = "breaker"
)

// What Decide never says, but a record of an attempt may.
const (
	// ReasonSucceeded: the attempt succeeded.
	ReasonSucceeded Reason = "succeeded"
	// ReasonWorkerLost: the worker was lost while the attempt ran: its process has ended,
	// as the lock of the database shows, or a later process that has its name; the
	// attempt runs again and is not charged.
	ReasonWorkerLost Reason = "worker_lost"
	// ReasonLeaseExpired: the worker was not heard of for its lease while the attempt
	// ran, so another one took its work over. It died, stands still or is cut off, which
	// cannot be told apart then; the attempt runs again and is not charged.
	ReasonLeaseExpired Reason = "lease_expired"
	// ReasonLeaseLost: the worker lost its work to another one (it was cut off or
	// stood still) and was heard of since; the attempt runs again there and is not
	// charged.
	ReasonLeaseLost Reason = "lease_lost"
	// ReasonCrashLimit: too many attempts were lost with their worker; the
	// call is quarantined.
	ReasonCrashLimit Reason = "crash_limit"
	// ReasonDrained: the worker shut down while the attempt ran; it runs
	// elsewhere and is not charged.
	ReasonDrained Reason = "drained"
)

// Retries reports whether another attempt of the same call follows.
func (r Reason) Retries() bool {
	switch r {
	case ReasonBackoff, ReasonImmediate, ReasonServerDelay, ReasonWorkerLost, ReasonLeaseExpired, ReasonLeaseLost, ReasonDrained:
		return true
	}
	return false
}

// Exhausts reports whether something was used up: attempts, time or budget.
// An open circuit breaker uses up nothing.
// These are the stops that OnExhausted is about.
func (r Reason) Exhausts() bool {
	switch r {
	case ReasonMaxAttempts, ReasonWithin, ReasonBudget:
		return true
	}
	return false
}
