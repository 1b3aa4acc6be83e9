package core

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// awaitBackoff makes sure that a call in backoff is looked at when that ends.
func (r *callTable) awaitBackoff(c *Call) {
	c.early = r.config.Unslotted != nil && len(c.Gates) == 0 && (c.Queue == "" || c.Step()) && !c.OnProbation && crashLimit(c.Policy) > 1
	r.watch(c)
}

// mayGoOn reports whether the attempt that ends a backoff may be put on record now. It
// may not without a slot if others wait long for theirs: then it is looked at later.
func (r *callTable) mayGoOn(c *Call) bool {
	c.unslotted = c.early && r.config.Unslotted()
	if c.early && !c.unslotted {
		c.early = false
		r.watch(c)
		return false
	}
	return true
}

// backOff waits again for the time of an attempt that was put on record ahead
// of it.
func (r *execution) backOff(c *Call) {
	at := c.StartedAt
	c.StartedAt, c.Node = 0, ""
	r.backOffUntil(c, at)
}

// neverBegan lets an attempt wait for a slot that was put on record without one, and for
// which there was none when its time had come.
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

// unbegun lets a call go on, or ends it if it is canceled, whose attempt is on record and
// never began. It returns false if the call has passed gates, which it leaves as if it had.
func (r *execution) unbegun(c *Call, ended int64) bool {
	switch {
	case c.cancelRequested:
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

// closeUnbegun ends a canceled call whose attempt is on record and never began: it was
// canceled while it waited for its time, or for its slot.
func (r *execution) closeUnbegun(c *Call, ended int64) {
	if c.StartedAt > r.now {
		r.setState(c, Backoff)
	} else {
		r.setState(c, Queued)
	}
	c.StartedAt, c.Node = 0, ""
	e := history.Event{Kind: history.CallCanceled, Call: c.Number, Ended: min(ended, r.now), Failure: given(c), Reason: string(retry.ReasonCanceled), Retry: r.summary(c, false, r.now)}
	if e.Retry != nil {
		e.Retry.TotalAttempts-- // the one that did not begin
	}
	r.happened(e)
}
