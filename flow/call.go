package flow

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// Call calls an action from a workflow in Go as a flow file does: by name, with
// named arguments, and by a policy that says the same as brackets do.
//
//	out, err := flow.Call[Report](wf, "export", map[string]any{"day": day},
//		flow.Attempts(3), flow.Exceptions("NetworkError"), flow.BackoffSeconds(60), flow.Timeout(2*time.Minute))
//
// is @export(day=day) [NetworkError -> retry: 2, backoff: 60] [timeout: 2m]. Without
// options the action runs once. The error is that of workflow.Call, or that of
// CallPolicy.
func Call[Out any](wf *workflow.Context, action string, args any, options ...CallOption) (Out, error) {
	policy, err := CallPolicy(options...)
	if err != nil {
		var none Out
		return none, retry.Terminal(fmt.Errorf("the call of %q: %w", action, err))
	}
	return workflow.Call(wf, activity.Declare[any, Out](action), args, activity.Retry(policy))
}

// CallOption is a part of the policy of Call.
type CallOption func(*callPolicy)

// callPolicy is what the options say; nil is not said.
type callPolicy struct {
	attempts *int
	types    []string
	backoff  *float64
	timeout  *time.Duration
	faults   []error
}

// Attempts sets how often the action runs at most, the first time included: one more
// than the number behind retry. Where a retry is asked for without it, that is 101
// times.
func Attempts(n int) CallOption { return func(c *callPolicy) { c.attempts = &n } }

// Exceptions names the types of errors that are retried; without it all are.
func Exceptions(types ...string) CallOption {
	return func(c *callPolicy) {
		if len(types) == 0 {
			c.faults = append(c.faults, errors.New("flow.Exceptions names no error type; leave it away if all errors are to be retried"))
		}
		c.types = append(c.types, types...)
	}
}

// BackoffSeconds sets the first wait, in seconds; each further one is twice as long.
// Parts of a second count, down to the nanosecond. Zero is no wait.
func BackoffSeconds(s float64) CallOption { return func(c *callPolicy) { c.backoff = &s } }

// Timeout sets how long one attempt may take.
func Timeout(d time.Duration) CallOption { return func(c *callPolicy) { c.timeout = &d } }

// defaultRetries is how many retries there are if nobody says it.
const defaultRetries = 100

// CallPolicy is the policy that the options of a call amount to. The error names
// every value that cannot be used: nothing is left out silently.
func CallPolicy(options ...CallOption) (retry.Policy, error) {
	var c callPolicy
	for _, o := range options {
		o(&c)
	}
	text := c.brackets()
	if err := errors.Join(c.faults...); err != nil {
		return retry.Policy{}, err
	}
	if text == "" {
		return retry.Never, nil
	}
	p, err := retry.Parse(text)
	if err != nil {
		return retry.Policy{}, fmt.Errorf("the policy %s: %w", text, err)
	}
	return p, nil
}

// brackets is the policy in text notation, so that it cannot differ from what a file
// says.
func (c *callPolicy) brackets() string {
	var parts []string
	if c.attempts != nil || c.backoff != nil || len(c.types) > 0 {
		retries := defaultRetries
		if c.attempts != nil {
			if retries = *c.attempts - 1; retries < 0 || retries > retry.Unlimited-2 {
				c.faults = append(c.faults, fmt.Errorf("flow.Attempts is %d; it counts executions, so it is from 1 to %d", *c.attempts, retry.Unlimited-1))
			}
		}
		text := fmt.Sprintf("retry: %d", retries)
		if c.backoff != nil {
			if wait := c.wait(); wait > 0 {
				text += fmt.Sprintf(", backoff: %dns", wait.Nanoseconds())
			}
		}
		if len(c.types) > 0 {
			text = c.typeList() + " -> " + text
		}
		parts = append(parts, "["+text+"]")
	}
	if c.timeout != nil {
		if *c.timeout <= 0 {
			c.faults = append(c.faults, fmt.Errorf("flow.Timeout is %s; it is longer than zero", *c.timeout))
		}
		parts = append(parts, fmt.Sprintf("[timeout: %dns]", c.timeout.Nanoseconds()))
	}
	return strings.Join(parts, " ")
}

// wait is the first wait.
func (c *callPolicy) wait() time.Duration {
	s := *c.backoff
	if math.IsNaN(s) || s < 0 || s >= math.MaxInt64/1e9 {
		c.faults = append(c.faults, fmt.Errorf("flow.BackoffSeconds is %v; it is zero or more, and less than %d", s, math.MaxInt64/int64(time.Second)))
		return 0
	}
	wait := time.Duration(math.Round(s * 1e9))
	if s > 0 && wait == 0 {
		c.faults = append(c.faults, fmt.Errorf("flow.BackoffSeconds is %v; the shortest wait is a nanosecond, and zero is none", s))
	}
	return wait
}

// typeList is the error types as they stand before an arrow.
func (c *callPolicy) typeList() string {
	quoted := make([]string, len(c.types))
	for i, t := range c.types {
		quoted[i] = fmt.Sprintf("%q", t)
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}
