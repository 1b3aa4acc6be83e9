package core

import (
	"bytes"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/history"
)

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
	Replaced, Replacing *spec.Spec
	Breakers            []KeyBreaker // of run keys that have their own, which opened or closed
	Noted               []Note       // operations by people
	Faults              []error      // what could not be understood or done
	Dropped             int          // late or repeated inputs
}

// KeyBreaker is a change of the breaker of a run key: until when it was open and is, 0 if it is closed.
type KeyBreaker struct {
	Key        string
	Was, Until int64
	Failures   int
}

// Empty reports whether there is nothing to commit.
func (t *StandingTurn) Empty() bool {
	return len(t.Rows) == 0 && len(t.Closed) == 0 && len(t.Say) == 0 && len(t.Messages) == 0 && t.State == nil && !t.Over
}

// standing is what gates and schedules have in common. What they hold in memory is in their
// rows, and they never end.
type standing struct {
	state State // as last committed, or about to be committed
	log   notebook
	now   int64
	out   *StandingTurn // nil between steps
}

// State returns the state of the row after the last step.
func (s *standing) State() State { return s.state }

// Ended returns false.
func (s *standing) Ended() bool { return false }

// Idle returns true.
func (s *standing) Idle() bool { return true }

// Log returns the operations by people, oldest first. The entity owns the slice.
func (s *standing) Log() []Note { return s.log.notes }

// Asked returns the note of the request with this word and idempotency key. It returns nil
// if the request is new, has no key, or is no longer in the log.
func (s *standing) Asked(word, request string) *Note {
	for i := range s.log.notes {
		if n := &s.log.notes[i]; request != "" && n.Request == request && n.Word == word {
			return n
		}
	}
	return nil
}

// updateState computes the state of the row at the end of a step.
func (s *standing) updateState(detail any, wake int64) {
	data, _ := history.Seal(detail) // strings and numbers only: cannot fail
	next := State{Status: StatusStanding, Wake: wake, Detail: data}
	if next.Wake == s.state.Wake && next.Status == s.state.Status && bytes.Equal(data, s.state.Detail) {
		return
	}
	s.state = next
	if s.out != nil {
		s.out.State = &next
	}
}
