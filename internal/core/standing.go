package core

import (
	"bytes"
	"slices"

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

// begin begins a step, and end returns what it decided.
func (s *standing) begin(now int64) {
	s.now = max(s.now, now)
	s.out = &StandingTurn{Time: s.now}
}

func (s *standing) end() (out *StandingTurn) {
	out, s.out = s.out, nil
	return out
}

// obey carries out a request of a person and notes it. One that came before is dropped, and one
// without an outcome is not noted.
func (s *standing) obey(n Note, carryOut func() (outcome, text string)) {
	if s.Asked(n.Word, n.Request) != nil {
		s.out.Dropped++
		return
	}
	if n.Outcome, n.Text = carryOut(); n.Outcome != "" {
		s.log.add(s.out, n)
	}
}

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
	next := State{Status: StatusStanding, Wake: wake, Detail: seal(detail)}
	if next.Wake == s.state.Wake && next.Status == s.state.Status && bytes.Equal(next.Detail, s.state.Detail) {
		return
	}
	s.state = next
	if s.out != nil {
		s.out.State = &next
	}
}

// Noted is the state of the rows that are the log of a gate or schedule.
const Noted CallState = "#noted"

// Note records what a person did to a gate or schedule.
type Note struct {
	At      int64  `json:"at"` // ns since 1970
	Word    string `json:"word"`
	Request string `json:"request,omitempty"` // idempotency key, if any
	By      string `json:"by,omitempty"`
	Why     string `json:"why,omitempty"`
	Outcome string `json:"outcome"` // Applied, Unchanged or Refused
	Text    string `json:"text,omitempty"`
}

// maxNotes is how many notes a gate or schedule keeps. The oldest are deleted first.
const maxNotes = 100

// notebook is the log of a gate or schedule. Each note is a row of its own, numbered -1, -2
// and so on, so that a turn of a busy gate does not rewrite its log.
type notebook struct {
	notes []Note // oldest first
	first int64  // the number of notes[0], 0 if there has been no note
}

// load takes the notes out of rows and returns the other rows.
func (b *notebook) load(rows []Row) (rest []Row) {
	var noted []Row
	for _, row := range rows {
		if row.State == Noted {
			noted = append(noted, row)
		} else {
			rest = append(rest, row)
		}
	}
	slices.SortFunc(noted, func(a, b Row) int { return int(b.Call - a.Call) })
	for i, row := range noted {
		if i == 0 {
			b.first = row.Call
		}
		b.notes = append(b.notes, DecodeNote(row.Name, row.Data))
	}
	return rest
}

// DecodeNote returns the note in a row. A damaged one says so and must not block the entity.
func DecodeNote(word string, data []byte) (n Note) {
	if err := history.Unseal(data, &n); err != nil {
		n = Note{Word: word, Text: history.Damaged("this note", err).Error()}
	}
	return n
}

// add writes a note into a turn and deletes the notes beyond maxNotes.
func (b *notebook) add(out *StandingTurn, n Note) {
	if b.first == 0 {
		b.first = -1
	}
	out.Rows = append(out.Rows, Row{Call: b.first - int64(len(b.notes)), State: Noted, Name: n.Word, Data: seal(n)})
	out.Noted = append(out.Noted, n)
	b.notes = append(b.notes, n)
	for len(b.notes) > maxNotes {
		out.Closed = append(out.Closed, b.first)
		b.notes, b.first = b.notes[1:], b.first-1
	}
}
