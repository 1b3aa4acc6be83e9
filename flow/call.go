package flow

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// Call calls an action from a workflow in Go as a flow file does: by name, with named
// arguments, and with a policy like that of brackets.
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

// CallOption is an option of Call and CallPolicy.
type CallOption func(*callPolicy)

// callPolicy is what the options say; nil is not said.
type callPolicy struct {
	attempts *int
	types    []string
	backoff  *float64
	timeout  *time.Duration
	faults   []error
}

// Attempts sets the maximum number of executions, the first included: one more than the
// number after retry. The default is 101 if another option asks for retries.
func Attempts(n int) CallOption { return func(c *callPolicy) { c.attempts = &n } }

// Exceptions names the types of errors that are retried. By default all are.
func Exceptions(types ...string) CallOption {
	return func(c *callPolicy) {
		c.refuse(len(types) == 0, "flow.Exceptions names no error type; leave it out if all errors are retried")
		c.types = append(c.types, types...)
	}
}

// BackoffSeconds sets the first wait, in seconds, which may have a fraction; each further
// one is twice as long. Zero means no wait.
func BackoffSeconds(s float64) CallOption { return func(c *callPolicy) { c.backoff = &s } }

// Timeout sets how long one attempt may take.
func Timeout(d time.Duration) CallOption { return func(c *callPolicy) { c.timeout = &d } }

// defaultRetries is the number of retries without Attempts.
const defaultRetries = 100

// CallPolicy returns the policy of the options of a call. The error names every invalid
// value.
func CallPolicy(options ...CallOption) (retry.Policy, error) {
	var c callPolicy
	for _, o := range options {
		o(&c)
	}
	if c.attempts == nil && c.backoff == nil && c.timeout == nil && len(c.types) == 0 && len(c.faults) == 0 {
		return retry.Never, nil
	}
	p := retry.Policy{MaxAttempts: 1, Backoff: retry.None, OnTimeout: retry.StopOnTimeout}
	rule := retry.Rule{Types: c.types, MaxAttempts: defaultRetries + 1, Backoff: retry.Exponential(c.wait(), 2, 0)}
	if rule.Backoff.Initial == 0 {
		rule.Backoff = retry.None
	}
	if c.attempts != nil {
		rule.MaxAttempts = *c.attempts
		c.refuse(*c.attempts < 1 || *c.attempts >= retry.Unlimited, "flow.Attempts is %d; it counts executions, so it is from 1 to %d", *c.attempts, retry.Unlimited-1)
	}
	switch {
	case len(c.types) > 0:
		c.refuse(slices.Contains(c.types, retry.TypeCanceled), "flow.Exceptions names %s, which is never retried", retry.TypeCanceled)
		p.Rules = []retry.Rule{rule}
	case c.attempts != nil || c.backoff != nil:
		p.MaxAttempts, p.Backoff = rule.MaxAttempts, rule.Backoff
	}
	if c.timeout != nil {
		p.AttemptTimeout = *c.timeout
		c.refuse(*c.timeout <= 0, "flow.Timeout is %s; it is longer than zero", *c.timeout)
	}
	if err := errors.Join(c.faults...); err != nil {
		return retry.Policy{}, err
	}
	return p, p.Validate()
}

// refuse notes a value that cannot be used.
func (c *callPolicy) refuse(wrong bool, format string, args ...any) {
	if wrong {
		c.faults = append(c.faults, fmt.Errorf(format, args...))
	}
}

// wait returns the first wait.
func (c *callPolicy) wait() time.Duration {
	if c.backoff == nil {
		return 0
	}
	s := *c.backoff
	if math.IsNaN(s) || s < 0 || s >= math.MaxInt64/1e9 {
		c.refuse(true, "flow.BackoffSeconds is %v; it is zero or more, and less than %d", s, math.MaxInt64/int64(time.Second))
		return 0
	}
	wait := time.Duration(math.Round(s * 1e9))
	c.refuse(s > 0 && wait == 0, "flow.BackoffSeconds is %v; the shortest wait is a nanosecond, and zero is none", s)
	return wait
}
