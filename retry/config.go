package retry

import "fmt"

// ConfigError means that a call was not made, or not continued, because it is set up
// wrongly: an invalid policy, an option that this runner cannot honor, a WithDerive
// function that failed. It is never retried.
type ConfigError struct {
	// Name is the name of the call, empty if it has none.
	Name string

	// Err is what is wrong; a *PolicyError for an invalid policy.
	Err error
}

// Error names the call and what is wrong.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s is misconfigured: %s", nameOrCall(e.Name), textOf(e.Err, "no reason given"))
}

// Unwrap returns what is wrong.
func (e *ConfigError) Unwrap() error { return e.Err }
