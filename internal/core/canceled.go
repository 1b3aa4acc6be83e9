package core

import (
	"cmp"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// A request to cancel the run has its place in history, and what ends after it ends canceled.
// Code that is there gives up its calls itself, in the same step. While it is away (missing,
// parked, paused), the machine does for it what cannot wait: no further attempt starts, those
// in flight are asked to end, and awaited children are asked to cancel. Timers and waits for
// signals stay as they are: the code gives them up when it is back, whatever came meanwhile.

// applyCancellation applies a request to cancel the run.
func (r *Run) applyCancellation(e *history.Event) {
	r.journal.cancellation = cancellation{requested: true, untold: true, reason: e.Reason, at: r.journal.now}
	if r.journal.out != nil {
		r.journal.cancellation.fresh = true
		r.journal.cancellation.at = cmp.Or(r.journal.moment, r.journal.now)
	}
	r.journal.mustAdvance = true
	if r.journal.program != nil {
		r.journal.program.CancelComes(e.Reason)
	}
}

// isCanceled reports whether a call is to end: its code asked for that, or the run was asked
// to cancel and its code, which has not been told yet, will.
func (a *attempts) isCanceled(c *Call) bool {
	return c.cancelRequested || a.journal.cancellation.untold && !c.Shielded
}

// cancelOpen does for code that is away what a request to cancel the run asks for.
func (r *Run) cancelOpen() {
	if !r.journal.cancellation.untold {
		return
	}
	for _, n := range r.calls.openNumbers() {
		switch c := r.calls.byNumber[n]; {
		case c.Shielded || c.cancelRequested:
		case c.attempted() && c.state != Dispatched && c.state != Remote:
			r.attempts.closeWaiting(c)
		case !r.journal.cancellation.fresh: // the turn that took the request has asked them
		case c.attempted():
			r.attempts.interrupt(c, false)
		case c.awaitsRun():
			r.children.cancel(c)
		}
	}
	r.journal.cancellation.fresh = false
}

// closeWaiting ends a canceled call whose next attempt has not started, or whose attempt
// continues outside.
func (a *attempts) closeWaiting(c *Call) {
	e := history.Event{
		Kind: history.CallCanceled, Call: c.Number, Ended: a.journal.now, Failure: given(c),
		Reason: string(retry.ReasonCanceled), Retry: a.ledger.summary(c, false, a.journal.now),
	}
	switch {
	case c.state == External:
		a.interrupt(c, true)
	case e.Retry != nil && c.Undecided == nil:
		e.Retry.TotalAttempts-- // the attempt that does not start
	}
	a.happened(e)
}
