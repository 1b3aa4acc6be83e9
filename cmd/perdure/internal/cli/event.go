package cli

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// eventView is an event of a history for programs. The record has times and durations as
// numbers; the output has them as text, like all other output.
type eventView struct {
	view.Event
	line string // what it says to people
}

// MarshalJSON returns the event's record with times and durations as text.
func (e eventView) MarshalJSON() ([]byte, error) { return legible(e.Record, ""), nil }

func eventViews(events []view.Event, told bool) (all []eventView, err error) {
	all = make([]eventView, len(events))
	for i, e := range events {
		if all[i].Event = e; told {
			said, err := wording.EventOf(&e)
			if err != nil {
				return nil, err
			}
			all[i].line = said.String()
		}
	}
	return all, nil
}

// unit says what a number in a record counts.
type unit struct {
	name string // of the displayed field, if it differs from that in the record
	text func(n int64) string
}

var (
	nanoTime  = unit{text: func(n int64) string { return inUTC(time.Unix(0, n)) }}
	milliTime = unit{text: func(n int64) string { return inUTC(time.UnixMilli(n)) }}
	nanos     = unit{text: func(n int64) string { return time.Duration(n).String() }}
)

func inUTC(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// units are the times and durations of events, by path. The contents of errors (failure)
// and the values of users stay unchanged.
var units = map[string]unit{
	"due": nanoTime, "queued": nanoTime, "started": nanoTime, "ended": nanoTime, "deadline": nanoTime,
	"created": nanoTime, "first_turn": nanoTime, "chain_deadline": nanoTime, "first_attempt": nanoTime,
	"backoff": nanos, "run_timeout": nanos, "chain_timeout": nanos,
	"child.run_timeout": nanos, "child.chain_timeout": nanos, "verify.settle_after": nanos,
	"first.created": nanoTime, "first.first_turn": nanoTime, "first.chain_deadline": nanoTime, "first.deadline": nanoTime,
	"scheduled.nominal": nanoTime, "gates.max_hold": nanos, "gates.breaker.cooldown": nanos,
	"base.was.created": nanoTime, "base.was.first_turn": nanoTime, "base.was.chain_deadline": nanoTime,
	"carried.seen_at": milliTime, "carried.asked_at": milliTime, "carried.updates.at": milliTime, "carried.paused.at": nanoTime, "carried.admission.since": nanoTime,
	"retry.total_duration_ms": {"total_duration", func(n int64) string { return (time.Duration(n) * time.Millisecond).String() }},
	"retry.errors.at_ms":      {"at", milliTime.text},
}

// legible returns the JSON at a path of an event with its numbers as text. The fields keep
// their order.
func legible(raw json.RawMessage, path string) json.RawMessage {
	inside := path == ""
	for at := range units {
		inside = inside || at == path || strings.HasPrefix(at, path+".")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	first, err := decoder.Token()
	switch {
	case err != nil || !inside:
		return raw
	case first == json.Delim('{'), first == json.Delim('['):
	default:
		if u, is := units[path]; is {
			if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
				return json.RawMessage(strconv.Quote(u.text(n)))
			}
		}
		return raw
	}
	var out bytes.Buffer
	out.WriteRune(rune(first.(json.Delim)))
	for i := 0; decoder.More(); i++ {
		if i > 0 {
			out.WriteByte(',')
		}
		at := path
		if first == json.Delim('{') {
			key, _ := decoder.Token()
			name, _ := key.(string)
			at = strings.TrimPrefix(path+"."+name, ".")
			if u := units[at]; u.name != "" {
				name = u.name
			}
			quoted, _ := json.Marshal(name)
			out.Write(append(quoted, ':'))
		}
		var v json.RawMessage
		if decoder.Decode(&v) != nil {
			return raw // not JSON
		}
		out.Write(legible(v, at))
	}
	out.WriteRune(rune(first.(json.Delim)) + 2) // } is { plus two, and ] is [ plus two
	return out.Bytes()
}
