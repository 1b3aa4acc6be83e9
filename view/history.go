package view

import (
	"encoding/json"
	"time"
)

// Event is an entry of a run's history. Its JSON is Record.
type Event struct {
	Turn int64     // that the event belongs to; 0 of the start
	Time time.Time // of the turn
	Kind string    // ActivityScheduled, CallCompleted and so on
	Call int64     // number of the call; 0 if the event is about none
	Name string    // of the activity, step, timer or signal; all events of a call have it

	// ErrorType is the type name of the error of an event that has one: Exhausted, Timeout
	// or that of the error itself. The retry summary of a call has that of the last attempt
	// that failed.
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

// Mismatch is the first difference between what a run's history has on record and what
// its code asks for.
type Mismatch struct {
	Turn     int64  `json:"turn"`
	Command  int    `json:"command"`            // position among the commands of the turn, from 1
	Expected *Event `json:"expected,omitempty"` // on record; nil: nothing more
	Actual   *Event `json:"actual,omitempty"`   // asked for; nil: nothing more
}
