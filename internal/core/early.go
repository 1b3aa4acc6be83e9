package core

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// awaitBackoff watches for the end of a call's backoff.
func (r *callTable) awaitBackoff(c *Call) {
	c.early = r.config.Unslotted != nil && len(c.Gates) == 0 && (c.Queue == "" || c.Step()) && !c.OnProbation && crashLimit(c.Policy) > 1
	r.watch(c)
}

// mayGoOn reports whether the attempt that ends a backoff may be recorded now. Without a
// slot it may not if other calls wait long for slots; it is then looked at again nearer to
// its due time.
func (r *callTable) mayGoOn(c *Call) bool {
	c.unslotted = c.early && r.config.Unslotted()
	if c.early && !c.unslotted {
		c.early = false
		r.watch(c)
		return false
	}
	return true
}

// backOff resumes the backoff of an attempt that was recorded ahead of its time.
func (r *execution) backOff(c *Call) {
	at := c.StartedAt
	c.StartedAt, c.Node = 0, ""
	r.backOffUntil(c, at)
}

// neverBegan queues an attempt that was recorded without a slot and found none free when
// its time came.
func (r *execution) neverBegan(c *Call) {
	c.StartedAt, c.Node = 0, ""
	if c.Pause != nil {
		r.suspend(c, Paused)
		return
	}
	r.setState(c, Queued)
	c.due = c.queueDue() // it may have waited too long by now
	r.watch(c)
	r.touch(c)
	r.ready = append(r.ready, c)
}

// unbegun continues a call whose attempt is on record but never began, or ends it if it is
// canceled. It returns false if the call has gates: it leaves them as if the attempt had
// begun.
func (r *execution) unbegun(c *Call, ended int64) bool {
	switch {
	case r.isCanceled(c):
		r.closeUnbegun(c, ended)
	case c.StartedAt > r.now:
		r.backOff(c)
	case len(c.Gates) == 0:
		r.neverBegan(c)
	default:
		return false
	}
	return true
}

// closeUnbegun ends a canceled call whose attempt is on record but never began: the call
// was canceled while the attempt waited for its time or its slot.
func (r *execution) closeUnbegun(c *Call, ended int64) {
	if c.StartedAt > r.now {
		r.setState(c, Backoff)
	} else {
		r.setState(c, Queued)
	}
	c.StartedAt, c.Node = 0, ""
	e := history.Event{Kind: history.CallCanceled, Call: c.Number, Ended: min(ended, r.now), Failure: given(c), Reason: string(retry.ReasonCanceled), Retry: r.summary(c, false, r.now)}
	if e.Retry != nil {
		e.Retry.TotalAttempts-- // the attempt that did not begin
	}
	r.happened(e)
}
