package history

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Turns are read by hand where they are as append.go writes them: fields in its order,
// no blanks, none that is unknown. Reflection was most of the work of loading a run.
// Whatever deviates, from another version perhaps or written by a person, is left to
// encoding/json as a whole, so nothing is read differently or refused here.

// readTurn reads the document of a turn, or answers false.
func readTurn(data []byte) ([]Event, bool) {
	r := reader{rest: data}
	format := 0
	readInt(&r, `{"v":`, &format)
	if format != Format || !r.take(`,"events":[`) {
		return nil, false
	}
	// A turn has few events, and growing copies them, but its payloads may say anything.
	events := make([]Event, 0, min(1+bytes.Count(r.rest, []byte(`},{"kind":`)), 16))
	for len(events) == 0 || r.take(",") {
		events = append(events, Event{})
		r.event(&events[len(events)-1])
		if r.strange {
			return nil, false
		}
	}
	return events, r.take("]}") && len(r.rest) == 0
}

// reader reads JSON from the front of rest.
type reader struct {
	rest    []byte
	strange bool // something was not as it is written here
}

// event reads an event.
func (r *reader) event(e *Event) {
	r.expect(`{"kind":`)
	e.Kind = Kind(r.string())
	readInt(r, `,"call":`, &e.Call)
	r.text(`,"name":`, &e.Name)
	r.payload(`,"input":`, &e.Input)
	r.payload(`,"result":`, &e.Result)
	r.value(`,"failure":`, &e.Failure)
	r.value(`,"policy":`, &e.Policy)
	r.text(`,"queue":`, &e.Queue)
	r.value(`,"gates":`, &e.Gates)
	readInt(r, `,"priority":`, &e.Priority)
	r.text(`,"trace":`, &e.Trace)
	readInt(r, `,"version":`, &e.Version)
	readInt(r, `,"due":`, &e.Due)
	readInt(r, `,"attempt":`, &e.Attempt)
	r.text(`,"node":`, &e.Node)
	readInt(r, `,"queued":`, &e.Queued)
	readInt(r, `,"started":`, &e.Started)
	readInt(r, `,"ended":`, &e.Ended)
	r.value(`,"retry":`, &e.Retry)
	r.text(`,"id":`, &e.ID)
	readInt(r, `,"place":`, &e.Place)
	r.text(`,"reason":`, &e.Reason)
	e.Closed = r.take(`,"closed":true`)
	r.text(`,"operation":`, &e.Operation)
	r.text(`,"by":`, &e.By)
	r.text(`,"outcome":`, &e.Outcome)
	r.text(`,"note":`, &e.Note)
	r.text(`,"initiator":`, &e.Initiator)
	readInt(r, `,"deadline":`, &e.Deadline)
	r.value(`,"child":`, &e.Child)
	r.expect(`}`)
}

// take skips what is expected, if it is there.
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

func readInt[I int | int64](r *reader, key string, v *I) {
	if !r.take(key) {
		return
	}
	n := 0
	for n < len(r.rest) && (r.rest[n] == '-' || '0' <= r.rest[n] && r.rest[n] <= '9') {
		n++
	}
	i, err := strconv.ParseInt(string(r.rest[:n]), 10, 64)
	if err != nil || int64(I(i)) != i || bytes.HasPrefix(bytes.TrimPrefix(r.rest[:n], []byte("-")), []byte("0")) {
		r.strange = true
		return
	}
	*v, r.rest = I(i), r.rest[n:]
}

func (r *reader) text(key string, s *string) {
	if r.take(key) {
		*s = r.string()
	}
}

// string reads a string; what is escaped in it is left to encoding/json.
func (r *reader) string() string {
	if len(r.rest) == 0 || r.rest[0] != '"' {
		r.strange = true
		return ""
	}
	for i, c := range r.rest[1:] {
		switch {
		case c == '"':
			s := string(r.rest[1 : 1+i])
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

// payload reads a payload. A copy is kept, and not the whole turn.
func (r *reader) payload(key string, p *Payload) {
	switch {
	case !r.take(key):
	case r.take(`{"json":`):
		data := r.raw()
		if !json.Valid(data) || data[0] <= ' ' || data[len(data)-1] <= ' ' {
			r.strange = true
		}
		*p = Payload{Encoding: EncodingJSON, Data: bytes.Clone(data)}
		r.expect(`}`)
	default:
		r.decode(r.raw(), p)
	}
}

// value reads what has no reader of its own.
func (r *reader) value(key string, v any) {
	if r.take(key) {
		r.decode(r.raw(), v)
	}
}

func (r *reader) decode(data []byte, v any) {
	if json.Unmarshal(data, v) != nil {
		r.strange = true
	}
}

// raw skips a value and answers its text. What is no value is not noticed.
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
