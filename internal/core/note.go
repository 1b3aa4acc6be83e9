package core

import (
	"slices"

	"github.com/perdure/perdure/internal/history"
)

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

// isNote reports whether a row belongs to the log.
func isNote(row *Row) bool { return row.State == Noted }

// load takes the notes out of rows and returns the other rows.
func (b *notebook) load(rows []Row) (rest []Row) {
	var noted []Row
	for _, row := range rows {
		if isNote(&row) {
			noted = append(noted, row)
		} else {
			rest = append(rest, row)
		}
	}
	slices.SortFunc(noted, func(a, b Row) int { return int(b.Call - a.Call) })
	for _, row := range noted {
		n := DecodeNote(row.Name, row.Data)
		if b.first == 0 {
			b.first = row.Call
		}
		b.notes = append(b.notes, n)
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
	data, _ := history.Seal(n) // strings and numbers only: cannot fail
	out.Rows = append(out.Rows, Row{Call: b.first - int64(len(b.notes)), State: Noted, Name: n.Word, Data: data})
	out.Noted = append(out.Noted, n)
	b.notes = append(b.notes, n)
	for len(b.notes) > maxNotes {
		out.Closed = append(out.Closed, b.first)
		b.notes, b.first = b.notes[1:], b.first-1
	}
}
