package core

// updateState computes the state of the run's row at the end of a step.
func (r *Run) updateState() {
	wake, full := Never, r.row.state.Full
	var awaited []string
	if !r.ended && !r.damaged {
		if full = r.signals.full(full); full {
			awaited = r.signals.awaited()
		}
	}
	r.row.update(r.ended, r.journal.paused, awaited, r.admission.ticket)
	if !r.ended && !r.damaged {
		wake = r.wakeAfterStep()
	}
	if r.row.stateChanged || wake != r.row.state.Wake || full != r.row.state.Full || r.journal.out.Ended {
		r.row.stateChanged = false
		r.row.state.Wake, r.row.state.Full = wake, full
		next := r.row.state
		r.journal.out.State = &next
	}
}

// wakeAfterStep returns the wake time for the row. A row may stay Hot while the run waits
// only for a near time, which saves writes. A run that was in line leaves the line.
func (r *Run) wakeAfterStep() int64 {
	due := r.NextDue()
	if due != Never && len(r.calls.dues) > 0 && r.calls.dues[0].at == due {
		due = min(r.calls.dues[0].call.due, r.Deadline()) // readers of the row want the due time, not the earlier look
	}
	switch {
	case r.calls.busy > 0 || r.calls.unnotified > 0 || r.journal.out.Again:
		return Hot
	case due != Never && due-r.journal.now <= r.journal.config.Near && r.row.state.Wake >= Hot && r.row.state.Wake <= due:
		return r.row.state.Wake
	}
	return due
}

// NextDue returns when the run must be stepped if no input comes, or Never.
func (r *Run) NextDue() int64 {
	if r.ended || r.damaged {
		return Never
	}
	due := min(r.firstDue(), r.Deadline())
	if r.Rejoins() {
		return due
	}
	return min(due, r.calls.nextDue(), r.signals.roomAt(r.row.state.Full))
}

// firstTurn returns the time before which the code must not run.
func (r *Run) firstTurn() int64 {
	if r.codeRan {
		return 0
	}
	return r.journal.start.FirstTurn
}

// firstDue returns when the code first runs, or Never if it need not wait for a time.
func (r *Run) firstDue() int64 {
	if at := r.firstTurn(); at > r.journal.now && r.journal.program != nil {
		return at
	}
	return Never
}
