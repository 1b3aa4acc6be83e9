package logs

import "time"

// Attempt has the values of records about attempts.
type Attempt struct {
	Call             int64
	Activity         string
	Number           int
	Outcome, Reason  string
	Delay            time.Duration
	ErrorType, Error string
}

// CallRetries is written for some of the failed attempts of a call that are followed by
// another, so that a program whose calls fail does not look as if it hung.
func (l *Log) CallRetries(r Run, a Attempt) {
	l.write(callRetries, r.with(a.Call, a.Activity, a.Number, a.Outcome, a.Reason, a.Delay, a.ErrorType, a.Error)...)
}

// AttemptFailed is written for the other ones. It is a debug record, because failures that are
// retried are normal.
func (l *Log) AttemptFailed(r Run, a Attempt) {
	l.write(attemptFailed, r.with(a.Call, a.Activity, a.Number, a.Outcome, a.Reason, a.Delay, a.ErrorType, a.Error)...)
}

// WantsAttempts reports whether AttemptFailed writes anything.
func (l *Log) WantsAttempts() bool { return l.enabled(attemptFailed) }

// CallGaveUp is written for a failed attempt that is not followed by another.
func (l *Log) CallGaveUp(r Run, a Attempt) {
	l.write(callGaveUp, r.with(a.Call, a.Activity, a.Number, a.Outcome, a.Reason, a.ErrorType, a.Error)...)
}

// CallPaused is written when the engine pauses a call for a person.
func (l *Log) CallPaused(r Run, a Attempt) { l.write(callPaused, r.with(a.waiting()...)...) }

// CallQuarantined is written when the attempts of a call have crashed their processes.
func (l *Log) CallQuarantined(r Run, a Attempt) { l.write(quarantined, r.with(a.waiting()...)...) }

// CallInDoubt is written when an attempt may have had its effect, and a person has to decide.
func (l *Log) CallInDoubt(r Run, a Attempt) { l.write(inDoubt, r.with(a.waiting()...)...) }

// ActivityHeld is written when calls of an activity have crashed their processes one after
// the other.
func (l *Log) ActivityHeld(activity, build string, deaths int) {
	l.write(activityHeld, activity, build, deaths)
}

// WorkflowHeld is written when runs of a workflow have crashed their processes one after the
// other.
func (l *Log) WorkflowHeld(workflow, build string, deaths int) {
	l.write(workflowHeld, workflow, build, deaths)
}

func (a *Attempt) waiting() []any {
	return []any{a.Call, a.Activity, a.Number, a.Reason, a.ErrorType, a.Error}
}

// ActivityMissing is written once for each activity that the engine cannot run.
func (l *Log) ActivityMissing(name string) { l.write(unserved, name) }

// ActivityRefused is written once for each activity and reason for which the engine may not
// run it.
func (l *Log) ActivityRefused(workflowID, activity, reason string) {
	l.write(refused, workflowID, activity, reason)
}

// HandlerPanicked is written when a query handler or a validator panicked.
func (l *Log) HandlerPanicked(r Run, handler, value, stack string) {
	l.write(asidePanicked, r.with(handler, value, stack)...)
}

// HookPanicked is written when the OnPaused hook panicked.
func (l *Log) HookPanicked(workflowID string, call int64, value, stack string) {
	l.write(hookPanicked, workflowID, call, value, stack)
}

// ObserverPanicked is written when an observer panicked at a turn of a run, or without one at a commit.
func (l *Log) ObserverPanicked(run, value, stack string) { l.write(observerFails, run, value, stack) }

// RunFailed is written when a run has failed.
func (l *Log) RunFailed(r Run, errorType, message string) {
	l.write(runFailed, r.with(errorType, message)...)
}

// RunHeld is written when a run is parked or waits for code.
func (l *Log) RunHeld(r Run, status, reason, stack string) {
	l.write(runHeld, r.with(status, reason, stack)...)
}

// RunMoved is written when a run moves to another node, or back to the owner of its partition.
func (l *Log) RunMoved(r Run, to, reason string) { l.write(runMoved, r.with(to, reason)...) }

// RunGoesOn is written when a held run continues because its code fits again.
func (l *Log) RunGoesOn(r Run, was string) { l.write(runGoesOn, r.with(was)...) }

// RunParked is written when a run cannot be loaded or committed.
func (l *Log) RunParked(run string, err error) { l.write(runParked, run, err) }

// ParkFailed is written when a run could not be parked.
func (l *Log) ParkFailed(run string, err error) { l.write(parkFailed, run, err) }

// TurnRefused is written when another turn has the number of a turn.
func (l *Log) TurnRefused(run string, turn int64) { l.write(turnRefused, run, turn) }

// HistoryLong is written once for each run whose history comes close to the limit.
func (l *Log) HistoryLong(r Run, events, limit int) { l.write(historyLong, r.with(events, limit)...) }

// BacklogLong is written when the unread signals of a run come close to the limit.
func (l *Log) BacklogLong(r Run, unread, limit int) { l.write(backlogLong, r.with(unread, limit)...) }

// InputsLate is written when a turn dropped inputs.
func (l *Log) InputsLate(run string, count int) { l.write(inputsLate, run, count) }

// ResultRefused is written by a worker whose result the owner of its run refuses.
func (l *Log) ResultRefused(run string, call int64, attempt int) {
	l.write(resultLate, run, call, attempt)
}

// AttemptUnreadable is written by a worker that has claimed an attempt it cannot read.
func (l *Log) AttemptUnreadable(activity string, rest time.Duration, err error) {
	l.write(taskUnread, activity, rest, err)
}

// MessageUnreadable is written when a message cannot be read.
func (l *Log) MessageUnreadable(err error) { l.write(messageKept, err) }

// MessageDropped is written when no run takes a message.
func (l *Log) MessageDropped(workflowID, kind, key string) {
	l.write(messageGone, workflowID, kind, key)
}

// QueryUnreadable is written when a query cannot be read.
func (l *Log) QueryUnreadable(err error) { l.write(queryBroken, err) }

// AnswerFailed is written when the answer to a query cannot be sent.
func (l *Log) AnswerFailed(err error) { l.write(answerFailed, err) }

// ChildNotStarted is written when the message that starts a child cannot be carried out.
func (l *Log) ChildNotStarted(workflowID, run string, err error) {
	l.write(childLeft, workflowID, run, err)
}

// ParentNotTold is written when the message to the parent of a run cannot be made.
func (l *Log) ParentNotTold(run string, err error) { l.write(parentTaken, run, err) }
