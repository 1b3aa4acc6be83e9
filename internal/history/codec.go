package history

import (
	"encoding/json"
	"fmt"
)

// Format is the version of the documents this program writes. It rises when an
// older program could not read them.
const Format = 1

// document is the events of one turn as stored.
type document struct {
	Format int     `json:"v"`
	Events []Event `json:"events"`
}

// EncodeTurn makes the document of a turn's events.
func EncodeTurn(events []Event) ([]byte, error) {
	return appendTurn(make([]byte, 0, 128*(1+len(events))), events)
}

// DecodeTurn reads the document of a turn.
func DecodeTurn(data []byte) ([]Event, error) { return new(Words).DecodeTurn(data) }

// DecodeTurn reads the document of a turn of a history. What its turns have in common is
// kept once if all of them are read with the same words.
func (w *Words) DecodeTurn(data []byte) ([]Event, error) {
	if events, ok := readTurn(data, w); ok {
		return events, nil
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("history cannot be read: %w", err)
	}
	if err := checkFormat(d.Format); err != nil {
		return nil, err
	}
	return d.Events, nil
}

// EncodeStart makes the document of a start event.
func EncodeStart(s Start) ([]byte, error) {
	s.Kind, s.Format = RunStarted, Format
	return json.Marshal(s)
}

// DecodeStart reads the document of a start event.
func DecodeStart(data []byte) (Start, error) {
	var s Start
	if err := json.Unmarshal(data, &s); err != nil {
		return Start{}, fmt.Errorf("the start event cannot be read: %w", err)
	}
	return s, checkFormat(s.Format)
}

func checkFormat(v int) error {
	if v < 1 || v > Format {
		return fmt.Errorf("history format %d is not known to this program, which reads formats 1 to %d; run a newer version", v, Format)
	}
	return nil
}
