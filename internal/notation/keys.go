package notation

// Key is a key of the notation.
type Key struct {
	Name string

	// Value is how its value is written, empty for a key that stands alone.
	Value string

	// Where says in which brackets it may stand.
	Where string

	// Field is what it sets in Go.
	Field string

	// Means says what it is, and Unset what holds without it.
	Means, Unset string
}

// The names of the keys. Keys says what they mean.
const (
	Retry         = "retry"
	Backoff       = "backoff"
	Fixed         = "fixed"
	Linear        = "linear"
	Factor        = "factor"
	Max           = "max"
	Jitter        = "jitter"
	Stop          = "stop"
	Timeout       = "timeout"
	Heartbeat     = "heartbeat"
	Queue         = "queue"
	Within        = "within"
	OnTimeout     = "on-timeout"
	Only          = "only"
	Never         = "never"
	Pause         = "pause"
	MaxRetryAfter = "max-retry-after"
	Crashes       = "crashes"
	Unknown       = "unknown"
)

// The brackets in which a key may stand.
const (
	InRetry     = "a retry bracket, first"
	AfterRetry  = "a retry bracket"
	AfterDelay  = "a retry bracket, after its backoff"
	Alone       = "a bracket with error types, alone"
	WithTimeout = "a bracket without error types and without retry"
	ForAll      = "a bracket without error types"
	ForAny      = "any bracket without stop"
)

// Keys is the one table of all keys: the parser accepts what it lists, and the
// documentation is made from it. D is a duration, N a whole number, types one error
// type or several in parentheses. Bounds (timeout, heartbeat, queue, within) may be
// given in several brackets: the smallest that is not zero holds. Every other key
// stands at most once, those of retry brackets once a bracket. It is not to be
// changed.
var Keys = []Key{
	{Retry, "N or unlimited", InRetry, "MaxAttempts", "retries after the first attempt, so N+1 attempts; unlimited needs a within", "not retried"},
	{Backoff, "D", AfterRetry, "Backoff: Exponential", "wait D before the first retry, and longer by the factor before each further one", "retried at once"},
	{Fixed, "D", AfterRetry, "Backoff: Fixed", "wait D before each retry", ""},
	{Linear, "D", AfterRetry, "Backoff: Linear", "wait D before the first retry, and D longer before each further one", ""},
	{Factor, "number", AfterDelay, "Backoff.Coefficient", "what a backoff grows by; 1 or more", "2"},
	{Max, "D", AfterDelay, "Backoff.Max", "the longest wait of a backoff or linear", "100 times the first wait"},
	{Jitter, "P% or a kind", AfterDelay, "Jitter", "how waits are spread: by P percent to either side, or none, full (from zero), equal (from half the wait), decorrelated (from the first wait to 3 times the last)", "10%"},
	{Stop, "", Alone, "Rule.Stop", "the first such error ends the call", ""},
	{Timeout, "D", WithTimeout, "AttemptTimeout", "how long one attempt may run", "no bound"},
	{Heartbeat, "D", ForAll, "HeartbeatTimeout", "how long one attempt may be silent", "no bound"},
	{Queue, "D", ForAll, "QueueTimeout", "how long an attempt that is due may wait for its start", "no bound"},
	{Within, "D", ForAll, "Within", "the time from the first schedule in which attempts may start", "no bound"},
	{OnTimeout, "stop or retry", ForAll, "OnTimeout", "whether a timed-out attempt that no bracket names is retried as any other error", "stop"},
	{Only, "types", ForAll, "Retryable", "the error types that are retried, beside those that brackets name", "all"},
	{Never, "types", ForAll, "NonRetryable", "error types that are not retried, whatever brackets say", "none"},
	{Pause, "", ForAll, "OnExhausted", "when retries are used up, wait for a person", "fail"},
	{MaxRetryAfter, "D", ForAll, "MaxServerDelay", "the longest wait that an error may ask for (Retry-After)", "1h"},
	{Unknown, "repeat, verify, pause or fail", ForAny, "OnUnknown", "what follows an attempt that may have had its effect, because it was lost, timed out or says so: repeat it, ask the Verify function first, wait for a person, or fail", "verify if there is a Verify function, else repeat"},
	{Crashes, "N", ForAll, "CrashLimit", "attempts that may be lost with their worker before the call is quarantined", "3"},
}

// Find returns the entry of a key.
func Find(name string) (Key, bool) {
	for _, k := range Keys {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}
