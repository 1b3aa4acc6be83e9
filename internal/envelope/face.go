package envelope

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// class says what happens to a field in the face of its document.
type class uint8

const (
	secret class = iota // omitted; so is every field that the table does not list
	kept                // kept with everything in it
	opened              // kept, and each field in it is classified
	text                // words of users or of errors: replaced by the description
	value               // a value of a user: replaced by its size
	bare                // an unwrapped value of a user: its size stands under the name in capitals
)

// classes gives the class of a field by its JSON name. A name has the same class in all
// documents, the one that hides more. A test checks all types that are written into
// documents, so that none is missing.
var classes = map[string]class{
	"input": value, "result": value, "value": value, "details": value, "memo": value,

	// The short names of turns (internal/history/short.go).
	"e": opened, "k": kept, "c": kept, "n": kept, "a": kept, "w": kept, "q": kept, "s": kept, "t": kept, "d": kept,
	"i": bare, "r": bare, "I": value, "R": value,

	"message": text, "stack": text, "reason": text, "why": text, "note": text, "text": text, "says": text,
	"last_error": text, "error": text, "problem": text,

	"events": opened, "failure": opened, "causes": opened, "last": opened, "retry": opened, "errors": opened,
	"child": opened, "parent": opened, "scheduled": opened, "carried": opened, "signals": opened, "cancel": opened,
	"paused": opened, "pause": opened, "base": opened, "cuts": opened, "was": opened, "undecided": opened, "doubt": opened, "said": opened, "spec": opened,
	"recovered": opened, "updates": opened, "recent": opened, "calls": opened, "ticket": opened, "record": opened, "edited": opened, "edits": opened,

	"policy": kept, "gates": kept, "attributes": kept, "judged": kept, "admission": kept, "totals": kept, "passes": kept, "crashed_on": kept,
	"rate": kept, "budget": kept, "breaker": kept, "declared": kept, "asked": kept, "states": kept, "parts": kept,

	// Names, IDs and words of perdure itself.
	"v": kept, "kind": kept, "call": kept, "name": kept, "queue": kept, "key": kept, "weight": kept, "priority": kept, "trace": kept, "version": kept,
	"due": kept, "block": kept, "attempt": kept, "node": kept, "queued": kept, "started": kept, "ended": kept, "id": kept,
	"place": kept, "closed": kept, "operation": kept, "by": kept, "outcome": kept, "initiator": kept, "deadline": kept,
	"run": kept, "status": kept, "on_parent_close": kept, "reuse": kept, "run_timeout": kept, "chain_timeout": kept,
	"total_attempts": kept, "total_duration_ms": kept, "exhausted": kept, "last_error_type": kept, "errors_total": kept,
	"lost_to_crashes": kept, "drained": kept, "verify": opened, "verify_by": opened, "settle_after": kept, "questions": kept, "question": kept, "asking": kept, "failed": kept, "type": kept, "form": kept, "at_ms": kept, "workflow_id": kept, "group": kept,
	"chain": kept, "created": kept, "first_turn": kept, "after": kept, "chain_deadline": kept, "number": kept, "previous": kept,
	"backoff": kept, "first_attempt": kept, "detached": kept, "schedule": kept, "nominal": kept, "turn": kept, "at": kept,
	"request": kept, "before": kept, "cron": kept, "time_zone": kept, "every": kept, "offset": kept, "jitter": kept,
	"catch_up": kept, "overlap": kept, "workflow": kept, "failures": kept, "losses": kept, "drains": kept, "lost": kept,
	"beat_at": kept, "forced": kept, "owing": kept, "untold": kept, "probation": kept, "collecting": kept, "returned": kept, "delay": kept,
	"next": kept, "rule": kept, "of_run": kept, "since": kept, "damaged": kept, "fingerprint": kept, "set": kept, "decided": kept,
	"overlapped": kept, "last_end": kept, "deleted": kept, "skipped": kept, "missed": kept, "word": kept, "from": kept,
	"until": kept, "limit": kept, "mode": kept, "max_hold": kept, "check": kept, "unused": kept, "asker": kept, "wait": kept,
	"signal": kept, "signal_id": kept, "change": kept, "error_type": kept, "judges": kept, "returns": kept, "came": kept,
	"yield": kept, "unbegun": kept, "judge": kept, "anew": kept, "gate": kept, "task": kept, "claimed": kept, "only": kept,
	"tried": kept, "suspect": kept, "shielded": kept, "awaited": kept, "deaths": kept, "pin": kept, "to": kept, "builds": kept, "unserved": kept, "shared": kept, "inline": kept, "broken": kept, "keep_keys": kept, "keys": kept,
}

// Face returns a document, which is a JSON object, without its secrets. shown is the
// description that replaces them. Face returns nil if doc is not a JSON object.
func Face(doc []byte, shown string) []byte {
	var plain bytes.Buffer
	if json.Compact(&plain, doc) != nil || plain.Bytes()[0] != '{' {
		return nil
	}
	b := appendFace(make([]byte, 0, len(doc)), plain.Bytes(), shown)
	if !json.Valid(b) {
		return nil
	}
	return b
}

// appendFace appends the face of compact JSON whose fields are classified.
func appendFace(b, doc []byte, shown string) []byte {
	s := scanner{doc}
	switch doc[0] {
	case '{':
		return appendObject(b, &s, shown)
	case '[':
		b = append(b, '[')
		n := 0
		for s.next() {
			if n++; n > 1 {
				b = append(b, ',')
			}
			b = appendFace(b, s.element(), shown)
		}
		return append(b, ']')
	}
	if doc[0] != '"' {
		return append(b, doc...)
	}
	return append(b, `""`...)
}

func appendObject(b []byte, s *scanner, shown string) []byte {
	b = append(b, '{')
	n := 0
	field := func(name []byte) {
		if n++; n > 1 {
			b = append(b, ',')
		}
		b = append(append(b, name...), ':')
	}
	for s.next() {
		name := s.element()
		s.rest = s.rest[1:] // the colon
		raw := s.element()
		switch c := classes[string(name[1:len(name)-1])]; {
		case c == secret:
		case c == value && raw[0] == '{':
			field(name)
			b = append(append(append(b, `{"locked":`...), quoted(shown+", "+strconv.Itoa(sizeOf(raw))+" bytes")...), '}')
		case c == bare:
			field(bytes.ToUpper(name))
			b = append(append(append(b, `{"locked":`...), quoted(shown+", "+strconv.Itoa(len(raw))+" bytes")...), '}')
		case c == value:
		case c == text && raw[0] == '"':
			field(name)
			b = append(b, quoted("("+shown+")")...)
		case c == text: // a number with the same name, or words in an object
			if raw[0] != '{' && raw[0] != '[' {
				field(name)
				b = append(b, raw...)
			}
		case c == opened && raw[0] == '"':
		case c == opened:
			field(name)
			b = appendFace(b, raw, shown)
		default:
			field(name)
			b = append(b, raw...)
		}
	}
	return append(b, '}')
}

func quoted(s string) []byte {
	q, _ := json.Marshal(s) // a string cannot fail
	return q
}

// sizeOf returns the length of the value in a payload, in bytes.
func sizeOf(payload []byte) int {
	if value, is := bytes.CutPrefix(payload, []byte(`{"json":`)); is {
		return len(value) - 1
	}
	return len(payload)
}

// scanner iterates over compact JSON.
type scanner struct{ rest []byte }

// next moves to the next element of a list or object, past what stands before it. It returns false
// at the end.
func (s *scanner) next() bool {
	before := s.rest[0]
	s.rest = s.rest[1:]
	return before != '}' && before != ']' && s.rest[0] != '}' && s.rest[0] != ']'
}

// element returns the next value and moves past it.
func (s *scanner) element() []byte {
	at, depth := 0, 0
	for ; at < len(s.rest) && (depth > 0 || !strings.ContainsRune(",:}]", rune(s.rest[at]))); at++ {
		switch s.rest[at] {
		case '"':
			for at++; s.rest[at] != '"'; at++ {
				if s.rest[at] == '\\' {
					at++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
	}
	value := s.rest[:at]
	s.rest = s.rest[at:]
	return value
}
