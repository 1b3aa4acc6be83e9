package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Recording is the history of a run as one document, so that it can be replayed elsewhere.
type Recording struct {
	Start Start
	Turns []RecordedTurn
}

// RecordedTurn is a committed turn.
type RecordedTurn struct {
	Number int64
	Epoch  int64 // under which it was committed; a recording leaves it out
	Time   int64 // engine time, ns since 1970
	Events []Event
}

// recording is the JSON form of the document.
type recording struct {
	Kind  string          `json:"kind"`
	Start json.RawMessage `json:"start"` // a Start
	Turns []recordedTurn  `json:"turns"`

	// Run is there if start and turns are as a database stores them: they leave out what the
	// row of the run says.
	Run      *Row `json:"run,omitempty"`
	Redacted bool `json:"redacted,omitempty"`
}

type recordedTurn struct {
	Number int64           `json:"number"`
	Time   int64           `json:"time"`
	Turn   json.RawMessage `json:"turn"` // as EncodeTurn returns it
}

// RecordingKind is the kind of the document.
const RecordingKind = "perdure.history"

// errEncoded refuses documents that a codec has encoded, which a file holds as text.
var errEncoded = errors.New("the recording is encrypted, compressed or offloaded by a codec: make one that is not, with perdure history ID --record --codec FILE")

// EncodeRecording encodes a recording.
func EncodeRecording(r Recording) ([]byte, error) {
	r.Start.Kind, r.Start.Format = RunStarted, Format
	start, err := json.Marshal(r.Start)
	if err != nil {
		return nil, err
	}
	d := recording{Kind: RecordingKind, Start: start}
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

// DecodeRecordings decodes the recordings of a file: one document, which may be indented, or one
// a line. The values in them keep the bytes with which they were recorded.
func DecodeRecordings(data []byte) (all []Recording, err error) {
	documents := json.NewDecoder(bytes.NewReader(data))
	for {
		var document json.RawMessage
		if err := documents.Decode(&document); err == io.EOF && len(all) > 0 {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("the recording cannot be read: %w", err)
		}
		r, err := DecodeRecording(document)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
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
	if d.Kind != RecordingKind {
		return Recording{}, fmt.Errorf("this is no recording of a history: its kind is %q, not %q; make one: perdure history ID --record", d.Kind, RecordingKind)
	}
	switch {
	case d.Redacted:
		return Recording{}, errors.New("the recording is redacted: it has no values with which code could run; make one without --redact")
	case bytes.HasPrefix(d.Start, []byte(`"`)):
		return Recording{}, errEncoded
	case d.Run != nil:
		return d.stored()
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
		r.Turns = append(r.Turns, RecordedTurn{Number: t.Number, Time: t.Time, Events: events})
	}
	return r, nil
}

// stored decodes the documents of a database.
func (d *recording) stored() (r Recording, err error) {
	if r.Start, err = OpenStart(*d.Run, d.Start); err != nil {
		return r, fmt.Errorf("the start event of the recording cannot be read: %w", err)
	}
	var words Words
	for _, t := range d.Turns {
		if bytes.HasPrefix(t.Turn, []byte(`"`)) {
			return r, errEncoded
		}
		events, err := words.OpenTurn(r.Start.Author(t.Number), t.Number, t.Time, t.Turn)
		if err != nil {
			return r, err
		}
		r.Turns = append(r.Turns, RecordedTurn{Number: t.Number, Time: t.Time, Events: events})
	}
	return r, nil
}
