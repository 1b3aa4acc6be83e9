package history

import (
	"bytes"
	"encoding/json"
	"math"
	"unicode/utf8"

	"github.com/perdure/perdure/retry"
)

// Turns are decoded by hand, because reflection was most of the work of loading a run. Values
// that few events have are left to encoding/json.

// events decodes the events of a turn up to end. begin is the text at the boundary of two
// events; it serves to estimate their number.
func (r *reader) events(begin, end string) ([]Event, bool) {
	// A turn has few events, and growing the slice copies them, but the payloads may
	// contain anything.
	events := make([]Event, min(1+bytes.Count(r.rest, []byte(begin)), 16))
	n := 0
	for n == 0 || r.take(",") {
		if n == len(events) {
			events = append(events, Event{})
		}
		if r.event(&events[n]); r.strange {
			return nil, false
		}
		n++
	}
	return events[:n], r.take(end) && len(r.rest) == 0
}

// reader decodes JSON from the front of rest.
type reader struct {
	rest    []byte
	words   *Words
	base    int64 // for times
	strange bool  // the document is not as short.go writes them
}

// field decodes the value of a field that appendOptions or appendRest writes. If a field
// occurs twice the later value wins, as in encoding/json.
func (r *reader) field(e *Event, key []byte) {
	switch string(key) {
	case `"failure"`:
		r.decode(r.raw(), &e.Failure)
	case `"policy"`:
		r.policy(&e.Policy)
	case `"queue"`:
		e.Queue = r.string()
	case `"verify"`:
		r.decode(r.raw(), &e.Verify)
	case `"gates"`:
		r.decode(r.raw(), &e.Gates)
	case `"priority"`:
		readInt(r, &e.Priority)
	case `"trace"`:
		e.Trace = r.string()
	case `"version"`:
		readInt(r, &e.Version)
	case `"block"`:
		readInt(r, &e.Block)
	case `"retry"`:
		r.decode(r.raw(), &e.Retry)
	case `"id"`:
		e.ID = r.string()
	case `"place"`:
		readInt(r, &e.Place)
	case `"reason"`:
		e.Reason = r.string()
	case `"closed"`:
		e.Closed = true
		r.expect(`true`)
	case `"shielded"`:
		e.Shielded = true
		r.expect(`true`)
	case `"operation"`:
		e.Operation = r.string()
	case `"by"`:
		e.By = r.string()
	case `"outcome"`:
		e.Outcome = r.string()
	case `"note"`:
		e.Note = r.string()
	case `"initiator"`:
		e.Initiator = r.string()
	case `"deadline"`:
		readInt(r, &e.Deadline)
	case `"child"`:
		r.decode(r.raw(), &e.Child)
	default:
		r.unknown()
	}
}

// unknown skips the value of a field that only a newer version knows.
func (r *reader) unknown() {
	if !json.Valid(r.raw()) {
		r.strange = true
	}
}

// key decodes the name of a field in quotes and the colon after it.
func (r *reader) key() []byte {
	n := bytes.IndexByte(r.rest, ':')
	if n < 0 {
		r.strange = true
		return nil
	}
	key := r.skip(n)
	r.rest = r.rest[1:]
	return key
}

// take skips the expected text if it comes next.
func (r *reader) take(expected string) bool {
	found := len(r.rest) >= len(expected) && string(r.rest[:len(expected)]) == expected
	if found {
		r.rest = r.rest[len(expected):]
	}
	return found
}

func (r *reader) expect(expected string) {
	if !r.take(expected) {
		r.strange = true
	}
}

// readInt decodes an integer.
func readInt[I int | int64](r *reader, v *I) {
	limit := uint64(math.MaxInt64)
	negative := r.take("-")
	if negative {
		limit++
	}
	n, u := 0, uint64(0)
	for n < len(r.rest) && '0' <= r.rest[n] && r.rest[n] <= '9' {
		u = 10*u + uint64(r.rest[n]-'0')
		n++
	}
	const most = 19 // number of digits that always fit in u
	i := int64(u)
	if negative {
		i = -i
	}
	if n == 0 || n > most || u > limit || r.rest[0] == '0' && (n > 1 || negative) || int64(I(i)) != i {
		r.strange = true
		return
	}
	*v, r.rest = I(i), r.rest[n:]
}

// string decodes a string. It leaves escaped strings to encoding/json.
func (r *reader) string() string {
	if len(r.rest) == 0 || r.rest[0] != '"' {
		r.strange = true
		return ""
	}
	for i, c := range r.rest[1:] {
		switch {
		case c == '"':
			s := r.words.text(r.rest[1 : 1+i])
			r.rest = r.rest[i+2:]
			return s
		case c < ' ' || c >= utf8.RuneSelf || c == '\\':
			var s string
			r.decode(r.raw(), &s)
			return s
		}
	}
	r.strange = true
	return ""
}

// payload decodes a payload. It copies the data, so that the whole turn is not kept in
// memory.
func (r *reader) payload(p *Payload) {
	if !r.take(`{"json":`) {
		r.decode(r.raw(), p)
		return
	}
	data := r.raw()
	if !json.Valid(data) || data[0] <= ' ' || data[len(data)-1] <= ' ' {
		r.strange = true
	}
	*p = Payload{Encoding: EncodingJSON, Data: bytes.Clone(data)}
	r.expect(`}`)
}

// policy decodes a policy, or returns the one decoded from the same text before.
func (r *reader) policy(p **retry.Policy) {
	text := r.raw()
	if *p = r.words.policy(text); *p != nil {
		return
	}
	if r.decode(text, p); !r.strange && *p != nil {
		r.words.keepPolicy(text, *p)
	}
}

func (r *reader) decode(data []byte, v any) {
	if json.Unmarshal(data, v) != nil {
		r.strange = true
	}
}

// raw skips a value and returns its text. It does not notice an invalid value.
func (r *reader) raw() []byte {
	depth, quoted := 0, false
	for i := 0; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case (c == '}' || c == ']' || c == ',') && depth == 0:
			return r.skip(i)
		case c == '}' || c == ']':
			depth--
		}
	}
	r.strange = true
	return nil
}

func (r *reader) skip(n int) []byte {
	raw := r.rest[:n:n]
	r.rest = r.rest[n:]
	return raw
}
