package core

import "github.com/perdure/perdure/internal/history"

// Closing is what observers are told of a call of an activity or a step that a turn
// closes.
type Closing struct {
	Call      int64
	Name      string
	Status    ClosingStatus
	ErrorType string // of its failure, if it failed
	Attempts  int    // that it had
	Scheduled int64
	Ended     int64
}

// ClosingStatus is how a call ended.
type ClosingStatus string

// How calls end. An abandoned one was open when its run ended.
const (
	ClosedCompleted ClosingStatus = "completed"
	ClosedFailed    ClosingStatus = "failed"
	ClosedCanceled  ClosingStatus = "canceled"
	ClosedAbandoned ClosingStatus = "abandoned"
)

// closes tells observers of the end of a call, by the event that says so or an empty one.
// A replay tells nothing: what it repeats was told by the turn that was made durable.
func (r *ledger) closes(c *Call, e *history.Event) {
	if r.out == nil || !r.config.Closings || !c.attempted() || r.endedElsewhere(c.Number) {
		return
	}
	told := Closing{Call: c.Number, Name: c.Name, Status: ClosedCanceled, Attempts: c.tally(e, r.now).Attempts, Scheduled: c.First, Ended: r.now}
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
	r.out.Closings = append(r.out.Closings, told)
}
