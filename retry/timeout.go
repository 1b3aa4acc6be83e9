package retry

import (
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/notation"
)

// TimeoutKind says which timeout was exceeded: of a policy, or of a workflow.
type TimeoutKind string

const (
	// TimeoutAttempt: the attempt ran longer than AttemptTimeout.
	TimeoutAttempt TimeoutKind = "attempt"
	// TimeoutHeartbeat: the attempt was silent longer than HeartbeatTimeout.
	TimeoutHeartbeat TimeoutKind = "heartbeat"
	// TimeoutQueue: the attempt did not start within QueueTimeout.
	TimeoutQueue TimeoutKind = "queue"
	// TimeoutRun: a run of a workflow took longer than its RunTimeout.
	TimeoutRun TimeoutKind = "run"
	// TimeoutChain: the runs of a workflow took longer together than their
	// ChainTimeout.
	TimeoutChain TimeoutKind = "chain"
)

// ErrTimeout matches every *TimeoutError with errors.Is.
var ErrTimeout = errors.New("timeout")

func init() { RegisterError("retry.ErrTimeout", ErrTimeout) }

// TypeName returns the name of the error type: HeartbeatTimeout, QueueTimeout, or Timeout
// for all other kinds.
func (k TimeoutKind) TypeName() string {
	switch k {
	case TimeoutHeartbeat:
		return TypeHeartbeatTimeout
	case TimeoutQueue:
		return TypeQueueTimeout
	}
	return TypeTimeout
}

// leavesUnknown reports whether such an attempt may have had its effect: whether it had begun.
func (k TimeoutKind) leavesUnknown() bool { return k == TimeoutAttempt || k == TimeoutHeartbeat }

// policyTimeout is a timeout that a policy can cause.
type policyTimeout struct {
	kind TimeoutKind
	key  string                       // of its bound in the notation
	of   func(*Policy) *time.Duration // its bound
}

var timeouts = []policyTimeout{
	{TimeoutAttempt, notation.Timeout, func(p *Policy) *time.Duration { return &p.AttemptTimeout }},
	{TimeoutHeartbeat, notation.Heartbeat, func(p *Policy) *time.Duration { return &p.HeartbeatTimeout }},
	{TimeoutQueue, notation.Queue, func(p *Policy) *time.Duration { return &p.QueueTimeout }},
}

// timeoutOf returns the timeout with the name of an error type, nil if it is none.
func timeoutOf(name string) *policyTimeout {
	for i := range timeouts {
		if t := &timeouts[i]; t.kind.TypeName() == name {
			return t
		}
	}
	return nil
}

// TimeoutError is the failure of an attempt that exceeded a timeout of its
// policy, or of a run of a workflow that exceeded its own. The fields are exported so that a codec can rebuild it.
type TimeoutError struct {
	Kind TimeoutKind

	// Limit is the timeout that was exceeded.
	Limit time.Duration

	// Err is the error that the attempt returned after its time was up, nil if it did not
	// return.
	Err error
}

// Error begins with "timeout: " and says what took too long.
func (e *TimeoutError) Error() string {
	switch e.Kind {
	case TimeoutHeartbeat:
		return fmt.Sprintf("timeout: the attempt gave no sign of life for %s", formatDuration(e.Limit))
	case TimeoutQueue:
		return fmt.Sprintf("timeout: the attempt did not start within %s", formatDuration(e.Limit))
	case TimeoutRun:
		return fmt.Sprintf("timeout: the run took longer than %s", formatDuration(e.Limit))
	case TimeoutChain:
		return fmt.Sprintf("timeout: the workflow took longer than %s, all its runs together", formatDuration(e.Limit))
	}
	return fmt.Sprintf("timeout: the attempt ran longer than %s", formatDuration(e.Limit))
}

// ErrorType returns Timeout, HeartbeatTimeout or QueueTimeout.
func (e *TimeoutError) ErrorType() string { return e.Kind.TypeName() }

// Timeout returns true, as timeouts of package net do.
func (e *TimeoutError) Timeout() bool { return true }

// Is makes errors.Is find ErrTimeout.
func (e *TimeoutError) Is(target error) bool { return target == ErrTimeout }

// Unwrap returns Err.
func (e *TimeoutError) Unwrap() error { return e.Err }
