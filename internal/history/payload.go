package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// EncodingJSON is the encoding of values that nobody configured otherwise.
const EncodingJSON = "json"

// Payload is a user's value in encoded form. The zero Payload holds no value.
type Payload struct {
	Encoding string
	Data     []byte
}

// Encode makes the payload of a value. A Payload passes through unchanged.
func Encode(v any) (Payload, error) {
	switch v := v.(type) {
	case Payload:
		return v, nil
	case json.RawMessage:
		if !json.Valid(v) {
			return Payload{}, errors.New("the value is a json.RawMessage that holds no valid JSON")
		}
		return compact(v)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return Payload{}, fmt.Errorf("a value of type %T cannot be encoded as JSON: %w", v, err)
	}
	return Payload{Encoding: EncodingJSON, Data: data}, nil
}

func compact(raw []byte) (Payload, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return Payload{}, err
	}
	return Payload{Encoding: EncodingJSON, Data: b.Bytes()}, nil
}

// Decode fills the value v points to. An absent payload leaves v alone.
func (p Payload) Decode(v any) error {
	switch {
	case p.Absent():
		return nil
	case p.Encoding != EncodingJSON:
		return fmt.Errorf("payload encoding %q is not known to this program", p.Encoding)
	}
	if raw, ok := v.(*Payload); ok {
		*raw = p
		return nil
	}
	if err := json.Unmarshal(p.Data, v); err != nil {
		return fmt.Errorf("the recorded value does not fit type %T: %w", v, err)
	}
	return nil
}

// Absent reports whether there is no value at all.
func (p Payload) Absent() bool { return p.Encoding == "" && len(p.Data) == 0 }

// Equal reports whether two payloads are the same bytes in the same encoding.
func (p Payload) Equal(q Payload) bool {
	return p.Encoding == q.Encoding && bytes.Equal(p.Data, q.Data)
}

// String renders the payload for people.
func (p Payload) String() string {
	if p.Absent() {
		return "(none)"
	}
	if p.Encoding == EncodingJSON {
		return string(p.Data)
	}
	return fmt.Sprintf("(%s, %d bytes)", p.Encoding, len(p.Data))
}

// envelope is a payload in an event: {"json": VALUE} for JSON, so that it reads
// well, {"encoding": NAME, "bytes": BASE64} for everything else.
type envelope struct {
	JSON     json.RawMessage `json:"json,omitempty"`
	Encoding string          `json:"encoding,omitempty"`
	Bytes    []byte          `json:"bytes,omitempty"`
}

// MarshalJSON writes the envelope.
func (p Payload) MarshalJSON() ([]byte, error) {
	switch {
	case p.Absent():
		return []byte("null"), nil
	case p.Encoding == EncodingJSON:
		b := make([]byte, 0, len(p.Data)+len(`{"json":}`))
		b = append(b, `{"json":`...)
		b = append(b, p.Data...)
		return append(b, '}'), nil
	}
	return json.Marshal(envelope{Encoding: p.Encoding, Bytes: p.Data})
}

// UnmarshalJSON reads the envelope.
func (p *Payload) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*p = Payload{}
		return nil
	}
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return err
	}
	if e.JSON != nil {
		*p = Payload{Encoding: EncodingJSON, Data: e.JSON}
		return nil
	}
	*p = Payload{Encoding: e.Encoding, Data: e.Bytes}
	return nil
}
