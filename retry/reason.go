package retry

// Reason says why another attempt followed, or why none did. Its text is stable: the
// ledger, user interfaces, logs and metrics show it as it is.
type Reason string

// Why another attempt follows.
const (
	// ReasonBackoff: after the wait that the policy's backoff and jitter give.
	ReasonBackoff Reason = "backoff"
	// ReasonImmediate: immediately, because the backoff gives no wait.
	ReasonImmediate Reason = "immediate"
	// ReasonServerDelay: after the wait that the error asked for (see After).
	ReasonServerDelay Reason = "server_delay"
	// ReasonProbe: the attempt was the probe of a gate's circuit breaker that makes calls
	// wait, and is not charged; after the wait that followed the failure before, or that
	// the error asked for, the call waits at the gate again.
	ReasonProbe Reason = "probe"
)

// Why no further attempt follows, in the order in which they are judged.
const (
	// ReasonCanceled: the call was canceled, or the error is a cancellation.
	ReasonCanceled Reason = "canceled"
	// ReasonUnknown: the attempt may have had its effect, and no question can find out, or the
	// questions are used up; OnUnknown says whether the call has failed or waits for a person.
	ReasonUnknown Reason = "unknown_outcome"
	// ReasonTerminal: the error was marked with Terminal.
	ReasonTerminal Reason = "terminal"
	// ReasonStopRule: a Stop rule names the error's type.
	ReasonStopRule Reason = "stop_rule"
	// ReasonNonRetryable: NonRetryable names the error's type.
	ReasonNonRetryable Reason = "non_retryable"
	// ReasonTimeout: the attempt timed out and OnTimeout is StopOnTimeout.
	ReasonTimeout Reason = "timeout"
	// ReasonNotRetryable: Retryable does not name the error's type, or rules name what is
	// retried and none of them does.
	ReasonNotRetryable Reason = "not_retryable"
	// ReasonMaxAttempts: all attempts are used up.
	ReasonMaxAttempts Reason = "max_attempts"
	// ReasonWithin: the next attempt would start after the time of Within.
	ReasonWithin Reason = "within"
	// ReasonBudget: the retry budget has nothing left.
	ReasonBudget Reason = "budget"
	// ReasonBreaker: the circuit breaker of a gate is open when the attempt would start.
	// Decide does not return it.
	ReasonBreaker Reason = "breaker"
)

// ReasonVerify means that the attempt may have had its effect, so nothing is decided before the program
// was asked. The record of a question has it if another question follows.
const ReasonVerify Reason = "verify"

// Reasons that Decide does not return, but a record of an attempt may have.
const (
	// ReasonSucceeded: the attempt succeeded.
	ReasonSucceeded Reason = "succeeded"
	// ReasonFound: the record of a question: the attempt had its effect, and the call is
	// completed with the result.
	ReasonFound Reason = "found"
	// ReasonAbsent: the record of a question: the attempt that was lost or given back had no
	// effect, and runs again.
	ReasonAbsent Reason = "absent"
	// ReasonWorkerLost: the worker was lost while the attempt ran: its process has ended,
	// as the lock of the database shows, or a later process that has its name; the
	// attempt runs again and is not charged.
	ReasonWorkerLost Reason = "worker_lost"
	// ReasonLeaseExpired: the worker's lease expired while the attempt ran, so another
	// one took over its work. The worker died, stands still or is cut off, which others
	// cannot tell apart; the attempt runs again and is not charged.
	ReasonLeaseExpired Reason = "lease_expired"
	// ReasonLeaseLost: the worker lost its work to another one (it was cut off or stood
	// still) and has reported since; the attempt runs again there and is not charged.
	ReasonLeaseLost Reason = "lease_lost"
	// ReasonCopied: the attempt ran, as far as was known, when its run was copied to another
	// database; it runs again there and is not charged.
	ReasonCopied Reason = "copied"
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
	case ReasonBackoff, ReasonImmediate, ReasonServerDelay, ReasonProbe, ReasonWorkerLost, ReasonLeaseExpired, ReasonLeaseLost, ReasonCopied, ReasonDrained:
		return true
	}
	return false
}

// Exhausts reports whether the call stopped because attempts, time or budget were used
// up: the stops to which OnExhausted applies. An open circuit breaker is not one of them.
func (r Reason) Exhausts() bool {
	switch r {
	case ReasonMaxAttempts, ReasonWithin, ReasonBudget:
		return true
	}
	return false
}
