package core

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// awaitBackoff watches for the end of a call's backoff.
func (t *callTable) awaitBackoff(c *Call) {
	c.early = t.journal.config.Unslotted != nil && len(c.Gates) == 0 && (c.Queue == "" || c.Step()) && !c.OnProbation && crashLimit(c.Policy) > 1
	t.watch(c)
}

// mayGoOn reports whether the attempt that ends a backoff may be recorded now. Without a
// slot it may not if other calls wait long for slots; it is then looked at again nearer to
// its due time.
func (t *callTable) mayGoOn(c *Call) bool {
	c.unslotted = c.early && t.journal.config.Unslotted()
	if c.early && !c.unslotted {
		c.early = false
		t.watch(c)
		return false
	}
	return true
}

// backOff resumes the backoff of an attempt that was recorded ahead of its time.
func (a *attempts) backOff(c *Call) {
	at := c.StartedAt
	c.StartedAt, c.Node = 0, ""
	a.backOffUntil(c, at)
}

// neverBegan queues an attempt that was recorded without a slot and found none free when
// its time came.
func (a *attempts) neverBegan(c *Call) {
	c.StartedAt, c.Node = 0, ""
	if c.Pause != nil {
		a.suspend(c, Paused)
		return
	}
	a.calls.setState(c, Queued)
	c.due = c.queueDue() // it may have waited too long by now
	a.calls.watch(c)
	a.calls.touch(c)
	a.ready = append(a.ready, c)
}

// unbegun continues a call whose attempt is on record but never began, or ends it if it is
// canceled. It returns false if the call has gates: it leaves them as if the attempt had
// begun.
func (a *attempts) unbegun(c *Call, ended int64) bool {
	switch {
	case a.isCanceled(c):
		a.closeUnbegun(c, ended)
	case c.StartedAt > a.journal.now:
		a.backOff(c)
	case len(c.Gates) == 0:
		a.neverBegan(c)
	default:
		return false
	}
	return true
}

// closeUnbegun ends a canceled call whose attempt is on record but never began: the call
// was canceled while the attempt waited for its time or its slot.
func (a *attempts) closeUnbegun(c *Call, ended int64) {
	if c.StartedAt > a.journal.now {
		a.calls.setState(c, Backoff)
	} else {
		a.calls.setState(c, Queued)
	}
	c.StartedAt, c.Node = 0, ""
	e := history.Event{Kind: history.CallCanceled, Call: c.Number, Ended: min(ended, a.journal.now), Failure: given(c), Reason: string(retry.ReasonCanceled), Retry: a.ledger.summary(c, false, a.journal.now)}
	if e.Retry != nil {
		e.Retry.TotalAttempts-- // the attempt that did not begin
	}
	a.happened(e)
}
