package retry

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Gates stand between a call and its attempts: they bound how many run at once,
// and more. Package gate has them; its Through makes the option for Do.
type Gates interface {
	// Call begins a call. An error says what is wrong with the gates.
	Call(priority int) (Passage, error)
}

// Passage is the way of one call through its gates. Do uses it on one goroutine.
type Passage interface {
	// Enter waits until attempt n may start: at most for that time, without
	// bound if it is not positive. It returns nil, a *RefusedError, a
	// *TimeoutError of kind TimeoutQueue, or another error when ctx is canceled.
	// After an error the call has no place at any gate.
	Enter(ctx context.Context, attempt int, timeout time.Duration) error

	// Retry says that the attempt has failed and that the next one is due then.
	// It is asked last, when nothing else stands in the way of a retry.
	Retry(attempt int, due time.Time) BudgetVerdict

	// Leave says that the call has ended and why; a reason that is empty says
	// that nobody knows.
	Leave(Reason)
}

// WithGates leads the attempts of the call through gates, after the call has
// begun and its context is captured, and before each attempt starts. It may be
// given once; gates that belong together are one Gates.
func WithGates(g Gates) Option { return Option{kind: optionGates, gates: g} }

// WithPriority is the call's priority at its gates: higher goes first, and zero
// is that of calls without this option.
func WithPriority(n int) Option { return Option{kind: optionPriority, priority: n} }

// RefusedError says that a gate let no attempt pass. A call that it stops returns
// an *ExhaustedError with the same reason that wraps it.
type RefusedError struct {
	// Gate is the gate's name.
	Gate string

	// Reason is ReasonBreaker or ReasonBudget.
	Reason Reason

	// Last is the failure of the attempt before, nil if there was none.
	Last error
}

// Error names the gate and the reason.
func (e *RefusedError) Error() string {
	why := string(e.Reason)
	switch e.Reason {
	case ReasonBreaker:
		why = "its circuit breaker is open"
	case ReasonBudget:
		why = "its retry budget is used up"
	}
	return fmt.Sprintf("gate %s lets no attempt pass: %s", e.Gate, why)
}

// ErrorType returns Refused.
func (e *RefusedError) ErrorType() string { return TypeRefused }

// Unwrap returns the failure of the attempt before.
func (e *RefusedError) Unwrap() error { return e.Last }

// checkGates refuses gates that cannot be honored, and begins the call at them.
func (c *call) checkGates() error {
	switch {
	case c.gatesTwice:
		return errors.New("WithGates is given twice; name all gates of the call in one")
	case c.gates == nil && c.priority != 0:
		return errors.New("WithPriority is given and no gate; only gates heed it")
	case c.gates == nil:
		return nil
	}
	var err error
	c.passage, err = c.gates.Call(c.priority)
	return err
}

// gated makes a call that has gates. Whatever ends it, a panic of a sink
// included, it leaves them.
func (c *call) gated(p *Policy, fn func(context.Context) error) error {
	defer func() { c.passage.Leave(c.ended) }()
	c.id = newTrace(c.trace)
	at, err := c.attempt(p, 1, fn)
	return c.loop(p, fn, at, err)
}

// haltError sets what ends a call at a gate apart from a failure of an attempt.
type haltError struct {
	reason Reason
	cause  error
}

func (e *haltError) Error() string { return e.cause.Error() }

// enter waits at the gates for the n-th attempt.
func (c *call) enter(p *Policy, n int) error {
	timeout, within := p.QueueTimeout, false
	if n > 1 && p.bounded() {
		// The start of a retry was judged before the wait, which took time.
		left := max(time.Until(c.first.Add(p.Within)), 1)
		if timeout == 0 || left < timeout {
			timeout, within = left, true
		}
	}
	err := c.passage.Enter(c.parent, n, timeout)
	if c.parent.Err() != nil {
		return &haltError{reason: ReasonCanceled, cause: c.parent.Err()}
	}
	switch e := err.(type) {
	case nil:
		return nil
	case *TimeoutError:
		if within {
			return &haltError{reason: ReasonWithin, cause: c.lastFailure()}
		}
		return e
	case *RefusedError:
		e.Last = c.lastFailure()
		return &haltError{reason: e.Reason, cause: e}
	}
	return &hookError{fmt.Errorf("its gates failed: %w", err)}
}

// halted is what a call returns that ended before its n-th attempt.
func (c *call) halted(p *Policy, at attempt, halt *haltError) error {
	c.ended = halt.reason
	switch halt.reason {
	case ReasonCanceled:
		return c.aborted(at.number, PhaseQueue, c.lastFailure())
	case ReasonWithin:
	default:
		c.record(at, Record{End: time.Now(), Err: halt.cause, Reason: halt.reason})
	}
	return &ExhaustedError{
		Name: c.name, Attempts: at.number - 1, Reason: halt.reason, Max: c.limit,
		Within: p.Within, Records: c.failed, Err: halt.cause,
	}
}

// lastFailure is that of the last attempt, nil if there was none.
func (c *call) lastFailure() error {
	if len(c.failed) == 0 {
		return nil
	}
	return c.failed[len(c.failed)-1].Err
}
