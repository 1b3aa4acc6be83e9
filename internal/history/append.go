package history

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Events are encoded by hand, because every step of every run encodes a turn and reflection
// took a fifth of a step's time. short.go has the fields that nearly all events have, this
// file the others, under the names of the struct tags. read.go decodes by hand.

// appendOptions appends the options of a scheduled call, and the failure of a failed one.
func (e *Event) appendOptions(b []byte, err *error) []byte {
	b = appendPresent(b, `,"failure":`, e.Failure, err)
	b = appendPresent(b, `,"policy":`, e.Policy, err)
	b = appendText(b, `,"queue":`, e.Queue)
	b = appendPresent(b, `,"verify":`, e.Verify, err)
	if len(e.Gates) > 0 {
		b = appendValue(b, `,"gates":`, e.Gates, err)
	}
	b = appendInt(b, `,"priority":`, int64(e.Priority))
	b = appendText(b, `,"trace":`, e.Trace)
	b = appendInt(b, `,"version":`, int64(e.Version))
	if e.Shielded {
		b = append(b, `,"shielded":true`...)
	}
	return b
}

// appendRest appends the fields that few events have.
func (e *Event) appendRest(b []byte, err *error) []byte {
	b = appendPresent(b, `,"retry":`, e.Retry, err)
	b = appendText(b, `,"id":`, e.ID)
	b = appendInt(b, `,"place":`, e.Place)
	b = appendText(b, `,"reason":`, e.Reason)
	if e.Closed {
		b = append(b, `,"closed":true`...)
	}
	b = appendText(b, `,"operation":`, e.Operation)
	b = appendText(b, `,"by":`, e.By)
	b = appendText(b, `,"outcome":`, e.Outcome)
	b = appendText(b, `,"note":`, e.Note)
	b = appendText(b, `,"initiator":`, e.Initiator)
	b = appendInt(b, `,"deadline":`, e.Deadline)
	return appendPresent(b, `,"child":`, e.Child, err)
}

func appendInt(b []byte, key string, v int64) []byte {
	if v == 0 {
		return b
	}
	return strconv.AppendInt(append(b, key...), v, 10)
}

func appendText(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, key...), s)
}

// appendPresent appends a value unless it is nil.
func appendPresent[T any](b []byte, key string, v *T, err *error) []byte {
	if v == nil {
		return b
	}
	return appendValue(b, key, v, err)
}

// appendValue appends a value, and notes why that cannot be encoded.
func appendValue(b []byte, key string, v any, err *error) []byte {
	data, fault := json.Marshal(v)
	if *err == nil {
		*err = fault
	}
	return append(append(b, key...), data...)
}

// appendString appends a JSON string. It leaves strings that need escaping to
// encoding/json.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string cannot fail
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
