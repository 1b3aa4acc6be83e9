package retry

import "slices"

// NotationKey is a key of the text notation, for documentation.
type NotationKey struct {
	Key string

	// Value is how its value is written, empty for a key that stands alone.
	Value string

	// Where says in which brackets it may stand.
	Where string

	// Field is what it sets in Go.
	Field string

	// Means says what it is, and Unset what holds without it.
	Means, Unset string
}

// The keys. What they mean is said in notationKeys alone.
const (
	keyRetry         = "retry"
	keyBackoff       = "backoff"
	keyFixed         = "fixed"
	keyLinear        = "linear"
	keyFactor        = "factor"
	keyMax           = "max"
	keyJitter        = "jitter"
	keyStop          = "stop"
	keyTimeout       = "timeout"
	keyHeartbeat     = "heartbeat"
	keyQueue         = "queue"
	keyWithin        = "within"
	keyOnTimeout     = "on-timeout"
	keyOnly          = "only"
	keyNever         = "never"
	keyPause         = "pause"
	keyMaxRetryAfter = "max-retry-after"
	keyCrashes       = "crashes"
)

// The brackets in which a key may stand.
const (
	inRetry     = "a retry bracket, first"
	afterRetry  = "a retry bracket"
	afterDelay  = "a retry bracket, after its backoff"
	alone       = "a bracket with error types, alone"
	withTimeout = "a bracket without error types and without retry"
	forAll      = "a bracket without error types"
)

// notationKeys is the one table of all keys: the parser accepts what it lists,
// and the documentation is made from it.
var notationKeys = []NotationKey{
	{keyRetry, "N or unlimited", inRetry, "MaxAttempts", "retries after the first attempt, so N+1 attempts; unlimited needs a within", "not retried"},
	{keyBackoff, "D", afterRetry, "Backoff: Exponential", "wait D before the first retry, and longer by the factor before each further one", "retried at once"},
	{keyFixed, "D", afterRetry, "Backoff: Fixed", "wait D before each retry", ""},
	{keyLinear, "D", afterRetry, "Backoff: Linear", "wait D before the first retry, and D longer before each further one", ""},
	{keyFactor, "number", afterDelay, "Backoff.Coefficient", "what a backoff grows by; 1 or more", "2"},
	{keyMax, "D", afterDelay, "Backoff.Max", "the longest wait of a backoff or linear", "100 times the first wait"},
	{keyJitter, "P% or a kind", afterDelay, "Jitter", "how waits are spread: by P percent to either side, or none, full (from zero), equal (from half the wait), decorrelated (from the first wait to 3 times the last)", "10%"},
	{keyStop, "", alone, "Rule.Stop", "the first such error ends the call", ""},
	{keyTimeout, "D", withTimeout, "AttemptTimeout", "how long one attempt may run", "no bound"},
	{keyHeartbeat, "D", forAll, "HeartbeatTimeout", "how long one attempt may be silent", "no bound"},
	{keyQueue, "D", forAll, "QueueTimeout", "how long an attempt that is due may wait for its start", "no bound"},
	{keyWithin, "D", forAll, "Within", "the time from the first schedule in which attempts may start", "no bound"},
	{keyOnTimeout, "stop or retry", forAll, "OnTimeout", "whether a timed-out attempt that no bracket names is retried as any other error", "stop"},
	{keyOnly, "types", forAll, "Retryable", "the error types that are retried, beside those that brackets name", "all"},
	{keyNever, "types", forAll, "NonRetryable", "error types that are not retried, whatever brackets say", "none"},
	{keyPause, "", forAll, "OnExhausted", "when retries are used up, wait for a person", "fail"},
	{keyMaxRetryAfter, "D", forAll, "MaxServerDelay", "the longest wait that an error may ask for (Retry-After)", "1h"},
	{keyCrashes, "N", forAll, "CrashLimit", "attempts that may be lost with their worker before the call is quarantined", "3"},
}

// NotationKeys returns the keys of the text notation: D is a duration, N a whole
// number, types one error type or several in parentheses. Bounds (timeout,
// heartbeat, queue, within) may be given in several brackets: the smallest that
// is not zero holds. Every other key stands at most once, those of retry
// brackets once a bracket.
func NotationKeys() []NotationKey { return slices.Clone(notationKeys) }

// findKey returns the entry of a key.
func findKey(name string) (NotationKey, bool) {
	for _, k := range notationKeys {
		if k.Key == name {
			return k, true
		}
	}
	return NotationKey{}, false
}
