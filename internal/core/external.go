package core

import (
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// bounded reports whether the policy limits how long an attempt may stay open.
func bounded(p *retry.Policy) bool { return p.AttemptTimeout > 0 || p.HeartbeatTimeout > 0 }

// handOver makes an attempt external: its body has returned, and a message from outside
// says how it ends. Only a row and a due time are left here, so the attempt survives the
// loss of its node. The hand-over counts as a heartbeat.
func (a *attempts) handOver(c *Call, ended int64) {
	if !bounded(c.Policy) {
		a.attemptFailed(c, Failed, history.FromError(retry.Terminal(fmt.Errorf(
			"%q returned activity.ErrPending, but its policy has neither an AttemptTimeout nor a HeartbeatTimeout: "+
				"an attempt that is never completed would stay open forever; set one of them", c.Name))), ended)
		return
	}
	c.cleared()
	c.BeatAt = max(c.BeatAt, ended)
	a.calls.setState(c, External)
	a.waitOutside(c)
}

// waitOutside watches for the timeout of an external attempt.
func (a *attempts) waitOutside(c *Call) {
	c.due, _ = c.timesOut(c.Policy)
	a.calls.watch(c)
	a.calls.touch(c)
}

// timesOut returns when an external attempt times out, and as what.
func (a *Progress) timesOut(p *retry.Policy) (int64, retry.TimeoutError) {
	end, as := int64(Never), retry.TimeoutError{}
	if p.AttemptTimeout > 0 {
		end, as = addTime(a.StartedAt, p.AttemptTimeout), retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: p.AttemptTimeout}
	}
	if p.HeartbeatTimeout > 0 {
		if silent := addTime(max(a.StartedAt, a.BeatAt), p.HeartbeatTimeout); silent < end {
			end, as = silent, retry.TimeoutError{Kind: retry.TimeoutHeartbeat, Limit: p.HeartbeatTimeout}
		}
	}
	return end, as
}

// timeOutside fails an external attempt whose time has run out.
func (a *attempts) timeOutside(c *Call) {
	_, as := c.timesOut(c.Policy)
	a.attemptFailed(c, TimedOut, history.FromError(&as), a.journal.now)
}

// attemptInFlight returns the call if this is its current attempt and it is in flight, here
// or outside. A message about an external attempt that was sent after its timeout is too
// late, even if no step ran in between. A worker was told that its result is accepted, so
// that counts until another attempt is on record.
func (a *attempts) attemptInFlight(call int64, attempt int, said int64) *Call {
	c := a.calls.byNumber[call]
	if c == nil || !inFlight(c.state) || c.attempt != attempt {
		return nil
	}
	if c.state == External && said >= c.due {
		a.timeOutside(c)
		return nil
	}
	return c
}

// saidOutside accepts the end of an attempt from outside instead of from its body, which
// need not finish. A result that the code cannot read becomes a failure.
func (a *attempts) saidOutside(c *Call, in AttemptEnded) AttemptEnded {
	if c.state == Dispatched {
		a.interrupt(c, false)
	}
	if in.Outcome != Completed {
		return in
	}
	if err := c.check(in.Result); err != nil {
		in.Outcome, in.Result = Failed, history.Payload{}
		in.Failure = history.FromError(fmt.Errorf("the attempt was completed from outside, but %w", err))
	}
	return in
}
