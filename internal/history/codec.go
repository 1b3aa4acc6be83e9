package history

import (
	"bytes"
	"cmp"
	"encoding/json"
)

// Versions of documents. A version rises when older programs could not read what this one
// writes.
const (
	// Format is that of documents that leave the database, and of documents in it that
	// older programs wrote.
	Format = 1
	// Stored is that of turns and start events in the database. See short.go.
	Stored = 2
)

// document is the events of one turn as stored.
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

// OpenTurn decodes a document from SealTurn or an earlier version, which may lack a
// checksum. Texts that the turns of a history share are stored once if all turns are read
// with the same Words. The error is a *DamageError that names the turn. If the turn is
// encoded and cannot be decoded, the events are those of its face.
func (w *Words) OpenTurn(run string, number, time int64, doc []byte) ([]Event, error) {
	if face, err := faceOf(doc); err != nil {
		if events, is := w.readShort(face, "]}", time); is {
			return events, DamagedTurn(number, err)
		}
		events, _ := w.decodeTurn(face)
		return events, DamagedTurn(number, err)
	}
	body, sealed, err := cutSum(doc, key{run, number, time})
	switch {
	case err != nil:
	case !sealed:
		if bytes.HasPrefix(doc, []byte(shortBegin)) {
			return nil, DamagedTurn(number, damaged("it has no checksum"))
		}
		events, err := w.decodeTurn(doc)
		return events, DamagedTurn(number, err)
	default:
		if events, is := w.readShort(body, "]", time); is {
			return events, DamagedTurn(number, checkKinds(events))
		}
		if events, is := readTurn(body, "]", w); is {
			return events, DamagedTurn(number, checkKinds(events))
		}
		var d document
		if err = json.Unmarshal(doc, &d); err == nil {
			return d.Events, DamagedTurn(number, d.check(Stored))
		}
	}
	return nil, DamagedTurn(number, err)
}

// EncodeTurn encodes a turn's events without a checksum, for use outside the database.
func EncodeTurn(events []Event) ([]byte, error) {
	return appendTurn(make([]byte, 0, 128*(1+len(events))), events)
}

// DecodeTurn decodes a document from EncodeTurn.
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
	for name := range fields { // perhaps its checksum
		if name != "v" && name != "events" {
			return nil, damaged("it has the field %q, and is no longer as it was written", name)
		}
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, damaged("%w", err)
	}
	return d.Events, d.check(Format)
}

// check returns an error if a newer version wrote the document.
func (d *document) check(newest int) error {
	if err := checkFormat(d.Format, newest); err != nil {
		return err
	}
	if d.Format == Stored {
		return damaged("it is no longer as it was written in format %d", Stored)
	}
	return checkKinds(d.Events)
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
