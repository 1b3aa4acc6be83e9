package core

import "github.com/perdure/perdure/internal/history"

// Heartbeat says that an attempt in flight is alive and how far it has come. One
// for a call that is closed, or of an earlier attempt, is dropped and counted.
//
// What an attempt said last is in the call's row and stays there when it fails,
// is lost or is given back: the next one is told. The code of the run never sees
// it, so history does not know it.
type Heartbeat struct {
	Call    int64
	Attempt int
	Details history.Payload // absent: those before stay
	At      int64
}

func (Heartbeat) input() {}

func (r *execution) heartbeat(in Heartbeat) {
	c := r.attemptInFlight(in.Call, in.Attempt, in.At)
	if c == nil {
		r.out.Dropped++
		return
	}
	c.BeatAt = max(c.BeatAt, in.At)
	if !in.Details.Absent() {
		c.Details = in.Details
	}
	r.touch(c)
	if c.state == External || c.state == Remote {
		r.waitOutside(c)
	}
}
