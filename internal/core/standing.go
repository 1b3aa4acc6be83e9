package core

import "github.com/perdure/perdure/internal/gates"

// Standing is the step machine of a gate or a schedule: an entity with an inbox, a wake
// time and rows like a run, but without history, code or an outcome.
type Standing interface {
	// Step takes inputs in order, skipping nil ones, and then what is due.
	Step(now int64, inputs []Input) *StandingTurn
	NextDue() int64
	Idle() bool
	AwaitsMessage() bool
	Ended() bool
	State() State
}

// StandingTurn is what one step of a gate or a schedule decided. Nothing of it is durable
// or done yet.
type StandingTurn struct {
	Time   int64
	Heard  int     // how many inputs were taken; the caller passes the rest again
	Rows   []Row   // new or changed tickets of a gate or fires of a schedule
	Closed []int64 // numbers of rows to delete
	State  *State  // nil if unchanged
	Over   bool    // the entity is to be forgotten

	Say      []FromGate // to runs, from a gate
	Messages []Message  // to runs, from a schedule

	// Replaced is the gate's previous spec, if a call's spec Replacing took its place;
	// otherwise nil.
	Replaced, Replacing *gates.Spec
	Noted               []Note  // operations by people
	Faults              []error // what could not be understood or done
	Dropped             int     // late or repeated inputs
}

// Empty reports whether there is nothing to commit.
func (t *StandingTurn) Empty() bool {
	return len(t.Rows) == 0 && len(t.Closed) == 0 && len(t.Say) == 0 && len(t.Messages) == 0 && t.State == nil && !t.Over
}
