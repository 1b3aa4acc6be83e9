package view

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Event is an entry of a run's history. Its JSON is Record.
type Event struct {
	Turn   int64     // that the event belongs to; 0 of the start
	Number int       // of the event in its turn, from 1; it is not part of Record
	Time   time.Time // of the turn
	Kind   string    // ActivityScheduled, CallCompleted and so on
	Call   int64     // number of the call; 0 if the event is about none
	Name   string    // of the activity, step, timer or signal; all events of a call have it

	// ErrorType is the type name of the event's error: Exhausted, Timeout or that of the
	// error itself. Empty without an error. The retry summary of a call has the type of
	// the last failed attempt.
	ErrorType string

	// Record is the event with all its fields, as JSON.
	Record json.RawMessage
}

// MarshalJSON returns Record.
func (e Event) MarshalJSON() ([]byte, error) { return e.Record, nil }

// UnmarshalJSON sets all fields.
func (e *Event) UnmarshalJSON(b []byte) error {
	var head struct {
		Turn int64     `json:"turn"`
		Time time.Time `json:"time"`
		Kind string    `json:"kind"`
		Call int64     `json:"call"`
		Name string    `json:"name"`
		Type string    `json:"error_type"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	*e = Event{Turn: head.Turn, Time: head.Time, Kind: head.Kind, Call: head.Call, Name: head.Name, ErrorType: head.Type, Record: append(json.RawMessage(nil), b...)}
	return nil
}

// Place returns the key to continue a listing after this event.
func (e *Event) Place() Place { return Place{Turn: e.Turn, Event: e.Number} }

// HistoryRange selects a part of a history. The zero value selects all of it. Reading a
// small part takes a time that does not depend on the length of the history, unless Call
// is set.
type HistoryRange struct {
	After Place // only events behind this place; zero: from the start event on
	Limit int   // at most this many events; 0: all
	Call  int64 // only events of the call with this number; 0: all
}

// Place is a place in a history. Its text is "17.3" for the third event of turn 17 and
// "17" for the end of turn 17. The zero value, whose text is empty, is before the
// history.
type Place struct {
	Turn  int64 // 0 of the start event
	Event int   // in its turn, from 1; EndOfTurn: behind the last
}

// EndOfTurn is the Event of the place at the end of a turn.
const EndOfTurn = math.MaxInt

// Before reports whether the place is before an event.
func (p Place) Before(e *Event) bool {
	return p.Turn < e.Turn || p.Turn == e.Turn && p.Event < e.Number
}

// String returns the text of the place.
func (p Place) String() string { return placeText(p.Turn, p.Event) }

// MarshalText returns the text of the place.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the text of a place.
func (p *Place) UnmarshalText(text []byte) error {
	var ok bool
	if p.Turn, p.Event, ok = parsePlace(string(text)); !ok {
		return &InputError{What: fmt.Sprintf("place %q", text), Problem: "is not the number of a turn or event; write the number of a turn, and with a point the number of an event in it, as in 17 or 17.3"}
	}
	return nil
}

// Mismatch is the first difference between a run's history and the calls that its code
// makes.
type Mismatch struct {
	Turn     int64  `json:"turn"`               // of the history, in which they differ; 0 of the start
	Command  int    `json:"command"`            // position among the commands of the turn, from 1
	Expected *Event `json:"expected,omitempty"` // what the history has; nil: nothing more
	Actual   *Event `json:"actual,omitempty"`   // what the code calls; nil: nothing more
}
