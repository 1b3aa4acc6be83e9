package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/retry"
)

// EncodingJSON is the default encoding of values.
const EncodingJSON = "json"

// Payload is a user's value in encoded form. The zero Payload holds no value.
type Payload struct {
	Encoding string
	Data     []byte
}

// MaxPayload is the maximum length of an encoded value in bytes. Every value is part of a
// transaction and of every replay of its run.
const MaxPayload = 2 << 20

// MaxNesting is the maximum nesting of lists and objects in an encoded value. JSON decoders
// have a limit (10,000 in encoding/json), and a value that could be written but not read
// would be lost.
const MaxNesting = 5000

// Encode returns the payload of a value. Equal values of one type give equal bytes, even after a
// round trip through a database: JSON is compact, with the characters escaped that encoding/json
// escapes. A Payload in another encoding is returned unchanged. Encode returns an error if
// the value cannot be encoded, holds text that is not UTF-8, is longer than MaxPayload or
// nested deeper than MaxNesting. A panic of the value's methods is such an error and wraps
// a *retry.PanicError: a value may come from outside and must not end the code it was sent
// to.
func Encode(v any) (Payload, error) {
	p, err := encode(v)
	switch {
	case err != nil:
		return Payload{}, fmt.Errorf("a value of type %T cannot be encoded as JSON: %w", v, err)
	case p.Encoding == EncodingJSON && !utf8.Valid(p.Data):
		return Payload{}, fmt.Errorf("a value of type %T cannot be encoded as JSON: its JSON is not valid UTF-8", v)
	case len(p.Data) > MaxPayload:
		return Payload{}, fmt.Errorf("a value of type %T is %d bytes long when encoded, and %d is the limit; keep it elsewhere and pass a reference to it %s",
			v, len(p.Data), MaxPayload, see.Limits)
	case p.Encoding == EncodingJSON && nesting(p.Data) > MaxNesting:
		return Payload{}, fmt.Errorf("a value of type %T is nested too deeply when encoded: lists and objects may be nested %d deep", v, MaxNesting)
	}
	return p, nil
}

// EncodeArgument is Encode for a value that a caller passes to an engine. Its error is an
// *InputError as well.
func EncodeArgument(what string, v any) (Payload, error) {
	p, err := Encode(v)
	if err != nil {
		return p, &argumentError{InputError{What: what, Problem: "cannot be used: " + err.Error()}, err}
	}
	return p, nil
}

// argumentError is an argument that cannot be encoded, with its cause.
type argumentError struct {
	input InputError
	cause error
}

func (e *argumentError) Error() string   { return e.input.Error() }
func (e *argumentError) Unwrap() []error { return []error{&e.input, e.cause} }

// nesting returns how deep lists and objects are nested in valid JSON.
func nesting(data []byte) (deepest int) {
	if len(data) < 2*MaxNesting {
		return 0 // too short to be nested too deep
	}
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}

func encode(v any) (p Payload, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = retry.NewPanicError(panicked)
		}
	}()
	switch p, ok := v.(Payload); {
	case !ok:
	case p.Absent() || p.Encoding != EncodingJSON:
		return p, nil
	default:
		v = json.RawMessage(p.Data)
	}
	data, err := json.Marshal(v)
	return Payload{Encoding: EncodingJSON, Data: data}, err
}

// Decode stores the value in what v points to; a *Payload receives p itself. An absent
// payload leaves v unchanged. A panic of v's methods is returned as an error, as in Encode.
func (p Payload) Decode(v any) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("the recorded value does not fit type %T: %w", v, retry.NewPanicError(panicked))
		}
	}()
	if raw, ok := v.(*Payload); ok {
		*raw = p
		return nil
	}
	switch {
	case p.Absent():
		return nil
	case p.Encoding == EncodingLocked:
		return fmt.Errorf("the value cannot be read here: it is %s", p.Data)
	case p.Encoding != EncodingJSON:
		return fmt.Errorf("payload encoding %q is not known to this program; run the version that wrote it", p.Encoding)
	}
	if err := json.Unmarshal(p.Data, v); err != nil {
		return fmt.Errorf("the recorded value does not fit type %T: %w", v, err)
	}
	return nil
}

// Absent reports whether there is no value.
func (p Payload) Absent() bool { return p.Encoding == "" && len(p.Data) == 0 }

// String formats the payload for people.
func (p Payload) String() string {
	switch {
	case p.Absent():
		return "(none)"
	case p.Encoding == EncodingJSON:
		return string(p.Data)
	case p.Encoding == EncodingLocked:
		return "(" + string(p.Data) + ")"
	}
	return fmt.Sprintf("(%s, %d bytes)", p.Encoding, len(p.Data))
}

// wrapped is the form of a payload in an event: {"json": VALUE} for JSON, so that it stays
// readable, and {"encoding": NAME, "bytes": BASE64} for everything else.
type wrapped struct {
	JSON     json.RawMessage `json:"json,omitempty"`
	Encoding string          `json:"encoding,omitempty"`
	Bytes    []byte          `json:"bytes,omitempty"`
	Locked   string          `json:"locked,omitempty"` // in place of a value that cannot be read
}

// MarshalJSON encodes the payload as it stands in an event.
func (p Payload) MarshalJSON() ([]byte, error) {
	switch {
	case p.Absent():
		return []byte("null"), nil
	case p.Encoding == EncodingJSON:
		b := make([]byte, 0, len(p.Data)+len(`{"json":}`))
		b = append(b, `{"json":`...)
		b = append(b, p.Data...)
		return append(b, '}'), nil
	case p.Encoding == EncodingLocked:
		return json.Marshal(wrapped{Locked: string(p.Data)})
	}
	return json.Marshal(wrapped{Encoding: p.Encoding, Bytes: p.Data})
}

// UnmarshalJSON decodes what MarshalJSON encodes.
func (p *Payload) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*p = Payload{}
		return nil
	}
	var e wrapped
	if err := json.Unmarshal(b, &e); err != nil {
		return err
	}
	switch {
	case e.JSON != nil:
		*p = Payload{Encoding: EncodingJSON, Data: e.JSON}
	case e.Locked != "":
		*p = Payload{Encoding: EncodingLocked, Data: []byte(e.Locked)}
	default:
		*p = Payload{Encoding: e.Encoding, Data: e.Bytes}
	}
	return nil
}
