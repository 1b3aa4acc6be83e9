package core

// A request to cancel the run has its place in history, and what ends after it ends canceled.
// Code that is there gives up its calls itself, in the same step. While it is away (missing,
// parked, paused), the machine does for it what cannot wait: no further attempt starts, those
// in flight are asked to end, and awaited children are asked to cancel. Timers and waits for
// signals stay as they are: the code gives them up when it is back, whatever came meanwhile.

// cancelOpen does for code that is away what a request to cancel the run asks for.
func (r *Run) cancelOpen() {
	if !r.journal.cancellation.untold {
		return
	}
	for _, c := range r.calls.sorted() {
		switch {
		case c.Shielded || c.cancelRequested:
		case c.attempted() && c.state != Dispatched && c.state != Remote:
			r.attempts.closeWaiting(c, r.journal.now)
		case !r.journal.cancellation.fresh: // the turn that took the request has asked them
		case c.attempted():
			r.attempts.interrupt(c, false)
		case c.awaitsRun():
			r.children().cancel(c)
		}
	}
	r.journal.cancellation.fresh = false
}
