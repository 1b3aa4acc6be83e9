package history

import (
	"cmp"
	"encoding/json"
)

// Format is the version of the documents this program writes. It rises when an
// older program could not read them.
const Format = 1

// document is the events of one turn as stored.
type document struct {
	Format int     `json:"v"`
	Events []Event `json:"events"`
}

// SealTurn makes the document of the events of a run's turn, with a checksum over them and
// over what turn it is.
func SealTurn(run string, number, time int64, events []Event) ([]byte, error) {
	doc, err := EncodeTurn(events)
	if err != nil {
		return nil, err
	}
	return appendSum(doc, key{run, number, time}), nil
}

// OpenTurn reads the document of a turn that SealTurn made, or an earlier version without
// a checksum. The error is a *DamageError that names the turn. If the turn is encoded and
// was not decoded, the events are those of its face.
func OpenTurn(run string, number, time int64, doc []byte) ([]Event, error) {
	return new(Words).OpenTurn(run, number, time, doc)
}

// OpenTurn is OpenTurn of a turn of a history. What its turns have in common is kept once
// if all of them are read with the same words.
func (w *Words) OpenTurn(run string, number, time int64, doc []byte) ([]Event, error) {
	if face, err := faceOf(doc); err != nil {
		events, _ := w.decodeTurn(face)
		return events, DamagedTurn(number, err)
	}
	body, sealed, err := cutSum(doc, key{run, number, time})
	switch {
	case err != nil:
	case !sealed:
		events, err := w.decodeTurn(doc)
		return events, DamagedTurn(number, err)
	default:
		if events, is := readTurn(body, "]", w); is {
			return events, DamagedTurn(number, checkKinds(events))
		}
		var d document
		if err = json.Unmarshal(doc, &d); err == nil {
			return d.Events, DamagedTurn(number, d.check())
		}
	}
	return nil, DamagedTurn(number, err)
}

// EncodeTurn makes the document of a turn's events without a checksum, which may leave
// the database.
func EncodeTurn(events []Event) ([]byte, error) {
	return appendTurn(make([]byte, 0, 128*(1+len(events))), events)
}

// DecodeTurn reads the document of a turn that EncodeTurn made.
func DecodeTurn(data []byte) ([]Event, error) { return new(Words).decodeTurn(data) }

func (w *Words) decodeTurn(data []byte) ([]Event, error) {
	if events, is := readTurn(data, "]}", w); is {
		return events, checkKinds(events)
	}
	var d document
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, damaged("%w", err)
	}
	for name := range fields { // its checksum, perhaps
		if name != "v" && name != "events" {
			return nil, damaged("it has the field %q, and is no longer as it was written", name)
		}
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, damaged("%w", err)
	}
	return d.Events, d.check()
}

// check refuses what a newer version has written.
func (d *document) check() error {
	if err := checkFormat(d.Format); err != nil {
		return err
	}
	return checkKinds(d.Events)
}

// EncodeStart makes the document of a start event, with a checksum.
func EncodeStart(s Start) ([]byte, error) {
	s.Kind, s.Format = RunStarted, Format
	return Seal(s)
}

// DecodeStart reads the document of a start event. The error is a *DamageError; if Coded, the
// start event is what its face shows.
func DecodeStart(data []byte) (Start, error) {
	var s Start
	err := Unseal(data, &s)
	if err == nil {
		err = checkFormat(s.Format)
	}
	switch {
	case IsCoded(err):
		return s, Damaged("the start event", err)
	case err != nil:
		return Start{}, Damaged("the start event", err)
	}
	return s, nil
}

// Author returns the run that wrote a turn of the run's history: another one if the run
// began with the history of that.
func (s *Start) Author(turn int64) string {
	if s.Base != nil {
		for _, cut := range s.Base.Cuts {
			if turn < cut.Turn {
				return cmp.Or(cut.Run, s.Base.Run)
			}
		}
	}
	return s.Run
}
