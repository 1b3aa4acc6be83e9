package view

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Payload is the recorded form of a value of a user's type, such as the input or result
// of a workflow. The zero value means that there is no value.
type Payload struct {
	JSON json.RawMessage `json:"json,omitempty"` // the value, if it is encoded as JSON
	// Encoding and Bytes are for values that are not.
	Encoding string `json:"encoding,omitempty"`
	Bytes    []byte `json:"bytes,omitempty"`
	// Locked describes a value that the program cannot decode because it has no codec for
	// it, such as "encrypted, key 2026-11, 312 bytes". Nothing else is set then.
	Locked string `json:"locked,omitempty"`
}

// Absent reports whether there is no value.
func (p Payload) Absent() bool {
	return p.JSON == nil && p.Encoding == "" && len(p.Bytes) == 0 && p.Locked == ""
}

// equal reports whether the values were recorded alike. A Locked value is unlike any.
func (p Payload) equal(o Payload) bool {
	return p.Locked == "" && o.Locked == "" && string(p.JSON) == string(o.JSON) && p.Encoding == o.Encoding && string(p.Bytes) == string(o.Bytes)
}

// Decode unmarshals the value into v, as encoding/json does. An absent value leaves v
// unchanged; a Locked value is an error.
func (p Payload) Decode(v any) error {
	switch {
	case p.Absent():
		return nil
	case p.Locked != "":
		return fmt.Errorf("the value cannot be read here: it is %s", p.Locked)
	case p.JSON == nil:
		return fmt.Errorf("payload encoding %q is not known to this program; run the version that wrote it", p.Encoding)
	}
	if err := json.Unmarshal(p.JSON, v); err != nil {
		return fmt.Errorf("the recorded value does not fit type %T: %w", v, err)
	}
	return nil
}

// String returns the JSON of the value, or a description in parentheses.
func (p Payload) String() string {
	switch {
	case p.Absent():
		return "(none)"
	case p.JSON != nil:
		return plain.Replace(string(p.JSON))
	case p.Locked != "":
		return "(" + p.Locked + ")"
	}
	return fmt.Sprintf("(%s, %d bytes)", p.Encoding, len(p.Bytes))
}

// plain reverses the escapes that keep JSON out of HTML, which no person wants to read. An
// escaped backslash is left alone, and what follows it.
var plain = strings.NewReplacer(`\\`, `\\`, `\u0026`, "&", `\u003c`, "<", `\u003e`, ">")
