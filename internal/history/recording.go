package history

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Recording is the history of a run as one document, so that it can be replayed elsewhere.
type Recording struct {
	Start Start
	Turns []RecordedTurn
}

// RecordedTurn is one turn of a recording.
type RecordedTurn struct {
	Number int64
	Time   int64 // engine time, ns since 1970
	Events []Event
}

// recording is the JSON form of the document.
type recording struct {
	Kind  string          `json:"kind"`
	Start json.RawMessage `json:"start"` // a Start
	Turns []recordedTurn  `json:"turns"`
}

type recordedTurn struct {
	Number int64           `json:"number"`
	Time   int64           `json:"time"`
	Turn   json.RawMessage `json:"turn"` // as EncodeTurn returns it
}

const recordingKind = "perdure.history"

// EncodeRecording encodes a recording.
func EncodeRecording(r Recording) ([]byte, error) {
	r.Start.Kind, r.Start.Format = RunStarted, Format
	start, err := json.Marshal(r.Start)
	if err != nil {
		return nil, err
	}
	d := recording{Kind: recordingKind, Start: start}
	for _, t := range r.Turns {
		turn, err := EncodeTurn(t.Events)
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w", t.Number, err)
		}
		d.Turns = append(d.Turns, recordedTurn{t.Number, t.Time, turn})
	}
	out, err := json.MarshalIndent(d, "", " ")
	return append(out, '\n'), err
}

// DecodeRecording decodes a recording. The document may be indented; the values in it keep
// the bytes with which they were recorded.
func DecodeRecording(data []byte) (Recording, error) {
	var d recording
	var compact bytes.Buffer
	err := json.Compact(&compact, data)
	if err == nil {
		err = json.Unmarshal(compact.Bytes(), &d)
	}
	if err != nil {
		return Recording{}, fmt.Errorf("the recording cannot be read: %w", err)
	}
	if d.Kind != recordingKind {
		return Recording{}, fmt.Errorf("this is no recording of a history: its kind is %q, not %q; make one: perdure history ID --record", d.Kind, recordingKind)
	}
	if err := checkFormat(formatOf(d.Start)); err != nil {
		return Recording{}, err
	}
	var r Recording
	if err := json.Unmarshal(d.Start, &r.Start); err != nil {
		return Recording{}, fmt.Errorf("the start event of the recording cannot be read: %w", err)
	}
	for _, t := range d.Turns {
		events, err := DecodeTurn(t.Turn)
		if err != nil {
			return Recording{}, fmt.Errorf("turn %d: %w", t.Number, err)
		}
		r.Turns = append(r.Turns, RecordedTurn{t.Number, t.Time, events})
	}
	return r, nil
}
