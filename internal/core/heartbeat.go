package core

import "github.com/perdure/perdure/internal/history"

// Heartbeat says that an attempt in flight is alive and how far it has come. One for a
// closed call or an earlier attempt is dropped and counted.
//
// The last details are in the call's row. They stay there when the attempt fails, is lost
// or is given back, so that the next attempt receives them. The code of the run never sees
// them, so they are not in history.
type Heartbeat struct {
	Call    int64
	Attempt int
	Details history.Payload // absent: the earlier details stay
	At      int64
}

func (Heartbeat) input() {}

func (a *attempts) heartbeat(in Heartbeat) {
	c := a.attemptInFlight(in.Call, in.Attempt, in.At)
	if c == nil {
		a.journal.out.Dropped++
		return
	}
	c.BeatAt = max(c.BeatAt, in.At)
	if !in.Details.Absent() {
		c.Details = in.Details
	}
	a.calls.touch(c)
	if c.state == External || c.state == Remote {
		a.waitOutside(c)
	}
}
