package history

import (
	"cmp"
	"encoding/json"
)

// Format is the version of the documents of a history. It rises when older programs could not
// read what this one writes.
const Format = 1

// document is the events of one turn outside the database. In it see short.go.
type document struct {
	Format int     `json:"v"`
	Events []Event `json:"events"`
}

// SealTurn encodes the events of a run's turn, with a checksum over them and over the
// identity of the turn.
func SealTurn(run string, number, time int64, events []Event) ([]byte, error) {
	size := 32 // for the bytes around the events
	for i := range events {
		e := &events[i]
		size += 56 + len(e.Name) + len(e.Node) + len(e.Input.Data) + len(e.Result.Data)
	}
	doc, err := appendShort(make([]byte, 0, size), time, events)
	if err != nil {
		return nil, err
	}
	return appendSum(doc, key{run, number, time}), nil
}

// OpenTurn decodes a document from SealTurn. Texts that the turns of a history share are
// stored once if all turns are read with the same Words. The error is a *DamageError that
// names the turn. If the turn is encoded and cannot be decoded, the events are those of its
// face.
func (w *Words) OpenTurn(run string, number, time int64, doc []byte) ([]Event, error) {
	if face, err := faceOf(doc); err != nil {
		events, _ := w.readShort(face, "]}", time)
		return events, DamagedTurn(number, err)
	}
	body, err := cutSum(doc, key{run, number, time})
	if err != nil {
		return nil, DamagedTurn(number, err)
	}
	if events, is := w.readShort(body, "]", time); is {
		return events, DamagedTurn(number, checkKinds(events))
	}
	return nil, DamagedTurn(number, cmp.Or(checkFormat(formatOf(doc)), damaged("it is not as turns of format %d are written", Format)))
}

// EncodeTurn encodes a turn's events without a checksum, for use outside the database.
func EncodeTurn(events []Event) ([]byte, error) {
	if events == nil {
		events = []Event{}
	}
	return json.Marshal(document{Format, events})
}

// DecodeTurn decodes a document from EncodeTurn.
func DecodeTurn(data []byte) ([]Event, error) {
	var d document
	err := json.Unmarshal(data, &d)
	switch later := newer(data); {
	case later != nil:
		return nil, later
	case err != nil:
		return nil, damaged("%w", err)
	case d.Events == nil:
		return nil, damaged("it is no turn")
	}
	return d.Events, cmp.Or(checkFormat(d.Format), checkKinds(d.Events))
}

// Author returns the run that wrote a turn of the run's history. It is another run if the
// run began with that one's history.
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
