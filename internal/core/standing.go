package core

import "github.com/perdure/perdure/internal/gates"

// Standing is the step machine of a gate or a schedule: an entity with an inbox, a wake
// time and rows, as a run is, but without a history, code and an outcome.
type Standing interface {
	// Step takes inputs in order, nil ones left out, and what time has brought.
	Step(now int64, inputs []Input) *StandingTurn
	NextDue() int64
	Idle() bool
	AwaitsMessage() bool
	Ended() bool
	State() State
}

// StandingTurn is what one step of a gate or a schedule decided. Nothing of it has
// happened yet.
type StandingTurn struct {
	Time   int64
	Heard  int     // how many of the inputs are taken; the rest is to be given again
	Rows   []Row   // tickets of a gate, fires of a schedule, that are new or changed
	Closed []int64 // those that are gone
	State  *State  // nil if unchanged
	Over   bool    // the entity is to be forgotten

	Say      []FromGate // to runs, from a gate
	Messages []Message  // to runs, from a schedule

	// Replaced is what a gate did until a call said that it is to do Replacing; nil if
	// none did.
	Replaced, Replacing *gates.Spec
	Noted               []Note  // what people did
	Faults              []error // what could not be understood, or done
	Dropped             int     // late or repeated inputs
}

// Empty reports whether there is nothing to commit.
func (t *StandingTurn) Empty() bool {
	return len(t.Rows) == 0 && len(t.Closed) == 0 && len(t.Say) == 0 && len(t.Messages) == 0 && t.State == nil && !t.Over
}
