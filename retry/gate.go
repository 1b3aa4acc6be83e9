package retry

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Gates is the place of one call at its gates, which bound how many attempts run
// at a time, and more. Package gate implements it. Do uses it on one goroutine.
type Gates interface {
	// Enter waits until the attempt may start. Its error is nil, a *RefusedError, a
	// *TimeoutError of kind TimeoutQueue, or another error when ctx is canceled. After an
	// error the call has no place at any gate. probe reports whether the attempt is the
	// probe of a circuit breaker that makes calls wait: a failure that is tried again is
	// then not charged.
	Enter(ctx context.Context, a GateAsk) (probe bool, err error)

	// Retry reports that the attempt has failed and when the next one is due. It returns
	// whether the retry budgets allow it. Do calls it last, when nothing else prevents
	// the retry.
	Retry(attempt int, due time.Time) (allowed bool)

	// Leave gives up the place when the call has ended. The reason is empty if
	// Do panics.
	Leave(Reason)
}

// GateAsk is what a call asks its gates for. It is plain data.
type GateAsk struct {
	Attempt int           // number of the attempt that is to start, from 1
	Timeout time.Duration // the longest wait; zero or less is no bound
	Once    bool          // the policy allows one attempt, so a failure ends the call
}

// WithGates makes the attempts of the call pass gates; gate.Through is the usual way to
// use it. Do calls begin once, before the first attempt; an error of begin ends the call
// with a *ConfigError. The option may be given once.
func WithGates(begin func() (Gates, error)) Option {
	return Option{optionGates, config{gates: begin}}
}

// RefusedError means that a gate let no attempt pass. A call that it stops returns an
// *ExhaustedError that has the same Reason and wraps it.
type RefusedError struct {
	// Gate is the gate's name.
	Gate string

	// Reason is ReasonBreaker or ReasonBudget.
	Reason Reason

	// Last is the failure of the attempt before, nil if there was none.
	Last error
}

// Error names the gate and the reason, and ends with the text of the previous failure.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("gate %s lets no attempt pass (%s)", e.Gate, e.Reason)
	switch e.Reason {
	case ReasonBreaker:
		text = fmt.Sprintf("the circuit breaker of gate %s is open", e.Gate)
	case ReasonBudget:
		text = fmt.Sprintf("the retry budget of gate %s is used up", e.Gate)
	}
	if e.Last != nil {
		text += ": " + e.Last.Error()
	}
	return text
}

// ErrorType returns Refused.
func (e *RefusedError) ErrorType() string { return TypeRefused }

// Unwrap returns the failure of the previous attempt.
func (e *RefusedError) Unwrap() error { return e.Last }

// checkGates refuses gates that cannot be honored, and begins the call at them.
func (c *call) checkGates() error {
	switch {
	case c.gatesTwice:
		return errors.New("WithGates is given twice; name all gates of the call in one")
	case c.gates == nil:
		return nil
	}
	var err error
	c.place, err = c.gates()
	return err
}

// haltError sets what ends a call before an attempt apart from a failure of one.
type haltError struct {
	reason Reason // of a gate
	cause  error
	setup  bool // the call is set up wrongly
}

func (e *haltError) Error() string { return e.cause.Error() }

// enter waits at the gates for the n-th attempt.
func (c *call) enter(p *Policy, n int) (probe bool, err error) {
	timeout, within := p.QueueTimeout, false
	if n > 1 && p.bounded() {
		// The start of a retry was judged before the wait, which took time.
		left := max(time.Until(c.first.Add(p.Within)), 1)
		if timeout == 0 || left < timeout {
			timeout, within = left, true
		}
	}
	probe, err = c.place.Enter(c.parent, GateAsk{Attempt: n, Timeout: timeout, Once: c.limit == 1})
	if c.parent.Err() != nil {
		return false, &haltError{reason: ReasonCanceled, cause: c.parent.Err()}
	}
	switch e := err.(type) {
	case nil:
		return probe, nil
	case *TimeoutError:
		if within {
			return false, &haltError{reason: ReasonWithin, cause: c.lastFailure()}
		}
		return false, e
	case *RefusedError:
		e.Last = c.lastFailure()
		return false, &haltError{reason: e.Reason, cause: e}
	}
	return false, &haltError{setup: true, cause: fmt.Errorf("its gates failed: %w", err)}
}

// halted is what a call returns that ended before its n-th attempt.
func (c *call) halted(p *Policy, at attempt, halt *haltError) error {
	c.ended = halt.reason
	switch {
	case halt.setup:
		return &ConfigError{Name: c.name, Err: halt.cause}
	case halt.reason == ReasonCanceled:
		return c.aborted(at.number, PhaseQueue, c.lastFailure())
	case halt.reason != ReasonWithin:
		c.record(at, Record{End: time.Now(), Err: halt.cause, Reason: halt.reason})
	}
	return &ExhaustedError{
		Name: c.name, Attempts: at.number - 1 - c.free, Reason: halt.reason, Max: c.limit,
		Within: p.Within, Records: c.failures(), Err: halt.cause,
	}
}

// lastFailure is that of the last attempt, nil if there was none.
func (c *call) lastFailure() error {
	if len(c.failed) == 0 {
		return nil
	}
	return c.failed[len(c.failed)-1].Err
}
