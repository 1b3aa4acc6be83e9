package core

import "github.com/perdure/perdure/internal/history"

// Closing tells observers that a turn closed an activity call or step.
type Closing struct {
	Call      int64
	Name      string
	Status    ClosingStatus
	ErrorType string // of its failure, if it failed
	Attempts  int    // how many it had
	Scheduled int64
	Ended     int64
}

// ClosingStatus is how a call ended.
type ClosingStatus string

// How calls end. An abandoned call was open when its run ended.
const (
	ClosedCompleted ClosingStatus = "completed"
	ClosedFailed    ClosingStatus = "failed"
	ClosedCanceled  ClosingStatus = "canceled"
	ClosedAbandoned ClosingStatus = "abandoned"
)

// closes tells observers of the end of a call, by its closing event or an empty one. A
// replay tells nothing: the turn that was made durable has already done so.
func (l *ledger) closes(c *Call, e *history.Event) {
	if l.journal.out == nil || !l.journal.config.Closings || !c.attempted() || l.journal.endedElsewhere(c.Number) {
		return
	}
	told := Closing{Call: c.Number, Name: c.Name, Status: ClosedCanceled, Attempts: c.tally(e, l.journal.now).Attempts, Scheduled: c.First, Ended: l.journal.now}
	if e.Ended > 0 {
		told.Ended = e.Ended
	}
	switch e.Kind {
	case history.CallCompleted:
		told.Status = ClosedCompleted
	case history.CallFailed:
		told.Status, told.ErrorType = ClosedFailed, e.Failure.TypeName()
	case "":
		told.Status = ClosedAbandoned
	}
	l.journal.out.Closings = append(l.journal.out.Closings, told)
}
