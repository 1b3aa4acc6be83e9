package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

type order struct {
	ID    int
	Lines []string          `json:"lines,omitempty"`
	Note  *string           `json:"note"`
	Extra map[string]any    `json:"extra"`
	Raw   json.RawMessage   `json:"raw,omitempty"`
	Times map[string]string `json:"-"`
}

func sameBytes(a, b history.Payload) bool {
	return a.Encoding == b.Encoding && bytes.Equal(a.Data, b.Data)
}

// through takes a payload through an event and a start event.
func through(t testing.TB, p history.Payload) history.Payload {
	t.Helper()
	data, err := history.EncodeTurn([]history.Event{{Kind: history.CallCompleted, Call: 1, Result: p}})
	if err != nil {
		t.Fatal(err)
	}
	events, err := history.DecodeTurn(data)
	if err != nil {
		t.Fatal(err)
	}
	if data, err = history.EncodeStart(history.Start{Run: "r", Input: p}); err != nil {
		t.Fatal(err)
	}
	start, err := history.DecodeStart(data)
	if err != nil {
		t.Fatal(err)
	}
	if !sameBytes(start.Input, events[0].Result) {
		t.Errorf("in a start event it is %q, in a turn %q", start.Input.Data, events[0].Result.Data)
	}
	return events[0].Result
}

func TestPayloadRoundTrip(t *testing.T) {
	note := "<&>\u2028\x00 ü \U0001F600"
	for _, v := range []any{
		nil, 0, -1, 1.5, true, "", note, []int(nil), []int{}, [2]bool{true}, struct{}{}, map[string]int{"b": 1, "a": 2},
		math.MaxInt64, math.MaxFloat64, []byte("bytes"), time.Unix(1, 2).UTC(), &note, json.Number("12345678901234567890"),
		json.RawMessage(` { "a" : [ 1 , "<b>" ] } `), json.RawMessage(nil), json.RawMessage("null"),
		order{ID: 1, Lines: []string{"x"}, Note: &note, Extra: map[string]any{"k": nil}, Raw: json.RawMessage(`{"z": "<"}`)},
		&order{}, (*order)(nil), []order{{}, {ID: 2}},
	} {
		p, err := history.Encode(v)
		if err != nil {
			t.Errorf("%#v: %v", v, err)
			continue
		}
		got := through(t, p)
		if !sameBytes(got, p) {
			t.Errorf("%#v: %s became %s", v, p, got)
		}
		if v == nil {
			continue
		}
		into := reflect.New(reflect.TypeOf(v))
		if err := got.Decode(into.Interface()); err != nil {
			t.Errorf("%#v: %v", v, err)
			continue
		}
		again, err := history.Encode(into.Elem().Interface())
		if err != nil || !sameBytes(again, p) {
			t.Errorf("%#v: decoded and encoded again, %s became %s (%v)", v, p, again, err)
		}
	}
}

// What is compared on replay must be equal when it comes back (E41).
func TestE41_EqualValuesHaveEqualBytes(t *testing.T) {
	a, _ := history.Encode(map[string]any{"b": "<", "a": 1})
	for _, v := range []any{
		json.RawMessage("{ \"a\": 1,\n\t\"b\": \"<\" }"), json.RawMessage(`{"a":1,"b":"\u003c"}`),
		struct {
			A int    `json:"a"`
			B string `json:"b"`
		}{1, "<"},
		history.Payload{Encoding: history.EncodingJSON, Data: []byte(`{"a":1, "b":"<"}`)},
	} {
		b, err := history.Encode(v)
		if err != nil || !sameBytes(a, b) {
			t.Errorf("%s and %s (%v)", a, b, err)
		}
	}
	if c, _ := history.Encode(json.RawMessage(`{"b":"<","a":1}`)); sameBytes(a, c) {
		t.Error("other bytes are equal")
	}
}

func TestPayloadOfOtherEncodings(t *testing.T) {
	p := history.Payload{Encoding: "proto", Data: []byte{0, 1, 0xff}}
	q, err := history.Encode(p)
	if err != nil || !sameBytes(q, p) {
		t.Fatalf("%v, %v", q, err)
	}
	if got := through(t, p); !sameBytes(got, p) {
		t.Errorf("%#v", got)
	}
	var s string
	if err := p.Decode(&s); err == nil || !strings.Contains(err.Error(), `"proto"`) {
		t.Errorf("%v", err)
	}
	var raw history.Payload
	if err := p.Decode(&raw); err != nil || !sameBytes(raw, p) {
		t.Errorf("%v, %v", raw, err)
	}
	if s := p.String(); s != "(proto, 3 bytes)" {
		t.Error(s)
	}
}

func TestPayloadAbsent(t *testing.T) {
	var p history.Payload
	if q, err := history.Encode(p); err != nil || !q.Absent() || !p.Absent() {
		t.Errorf("%v, %v", q, err)
	}
	if got := through(t, p); !got.Absent() {
		t.Errorf("%#v", got)
	}
	s := "untouched"
	if err := p.Decode(&s); err != nil || s != "untouched" || p.String() != "(none)" {
		t.Errorf("%v, %q", err, s)
	}
	if null, _ := history.Encode(nil); null.Absent() || through(t, null).Absent() {
		t.Error("null is a value")
	}
}

type badJSON struct{ text string }

func (b badJSON) MarshalJSON() ([]byte, error) {
	if b.text == "" {
		return nil, errors.New("it does not want to")
	}
	return []byte(b.text), nil
}

func TestE48_WhatCannotBeEncodedIsRefused(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{make(chan int), "chan int"},
		{func() {}, "func()"},
		{math.NaN(), "NaN"},
		{map[bool]int{true: 1}, "map[bool]int"},
		{json.RawMessage("{"), "json.RawMessage"},
		{json.RawMessage{}, "json.RawMessage"},
		{json.RawMessage("\"\xff\""), "UTF-8"},
		{badJSON{}, "it does not want to"},
		{badJSON{"{]"}, "badJSON"},
		{badJSON{"\"\xc3\""}, "UTF-8"},
		{history.Payload{Encoding: history.EncodingJSON, Data: []byte("{")}, "Payload"},
		{strings.Repeat("x", history.MaxPayload), "2097154 bytes long when encoded, and 2097152 is the limit; keep it elsewhere and pass a reference to it (see docs/limits.md#"},
		{json.RawMessage(`"` + strings.Repeat("x", history.MaxPayload) + `"`), "2097154 bytes"},
		{history.Payload{Encoding: "proto", Data: make([]byte, history.MaxPayload+1)}, "2097153 bytes"},
	} {
		p, err := history.Encode(c.value)
		if err == nil || !strings.Contains(err.Error(), c.want) || !p.Absent() {
			t.Errorf("%.100s: %d bytes, error %v", fmt.Sprintf("%#v", c.value), len(p.Data), err)
		}
	}
	if _, err := history.Encode(strings.Repeat("x", history.MaxPayload-2)); err != nil {
		t.Errorf("a value of exactly the limit: %v", err)
	}
}

func TestPayloadThatDoesNotFit(t *testing.T) {
	p, _ := history.Encode("seven")
	var n int
	if err := p.Decode(&n); err == nil || !strings.Contains(err.Error(), "*int") {
		t.Errorf("%v", err)
	}
}

func TestPayloadsReadWell(t *testing.T) {
	p, _ := history.Encode(map[string]int{"a": 1})
	data, err := history.EncodeTurn([]history.Event{{Kind: history.ActivityScheduled, Call: 1, Name: "charge", Input: p}})
	want := `{"v":1,"events":[{"kind":"ActivityScheduled","call":1,"name":"charge","input":{"json":{"a":1}}}]}`
	if err != nil || string(data) != want {
		t.Errorf("%s (%v)", data, err)
	}
}

func TestFormatsOfOtherVersionsAreRefused(t *testing.T) {
	for _, doc := range []string{`{}`, `{"v":0}`, `{"v":2,"events":[]}`, `{"v":-1}`, ``, `[]`, `{"v":1,"events":{}}`} {
		if _, err := history.DecodeTurn([]byte(doc)); err == nil {
			t.Errorf("turn %q is accepted", doc)
		}
		if doc == `{"v":1,"events":{}}` {
			continue // of a start event that is an unknown field
		}
		if _, err := history.DecodeStart([]byte(doc)); err == nil {
			t.Errorf("start %q is accepted", doc)
		}
	}
	_, err := history.DecodeTurn([]byte(`{"v":2,"events":[]}`))
	if err == nil || !strings.Contains(err.Error(), "history format 2 is not known to this program") {
		t.Errorf("%v", err)
	}
}

// Policies in events come back as they were.
func TestPoliciesComeBack(t *testing.T) {
	for name, p := range map[string]retry.Policy{
		"never": retry.Never, "standard": retry.Standard, "infinite": retry.Infinite, "forever": {Within: retry.Forever, MaxAttempts: retry.Unlimited},
		"rules": {Rules: []retry.Rule{{Types: []string{"A"}, Stop: true}, {Types: []string{"B", "C"}, MaxAttempts: 3, Backoff: retry.None, Jitter: retry.FullJitter}}},
		"lists": {Retryable: []string{"A"}, NonRetryable: []string{"B"}, OnTimeout: retry.StopOnTimeout, CrashLimit: 1, QueueTimeout: 1, MaxServerDelay: 3},
	} {
		data, err := history.EncodeTurn([]history.Event{{Kind: history.ActivityScheduled, Call: 1, Name: "a", Policy: &p}})
		if err != nil {
			t.Fatal(err)
		}
		events, err := history.DecodeTurn(data)
		if err != nil || !reflect.DeepEqual(*events[0].Policy, p) {
			t.Errorf("%s: %+v became %+v (%v)", name, p, events, err)
		}
	}
}

func FuzzPayload(f *testing.F) {
	f.Add([]byte(`{"json":{"a":1}}`))
	f.Add([]byte(`{"json":null}`))
	f.Add([]byte(`{"encoding":"x","bytes":"AAA="}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"json":"<&>\u2028"}`))
	f.Add([]byte(`"text"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p history.Payload
		if json.Unmarshal(data, &p) != nil {
			return
		}
		_ = p.String()
		var v any
		_ = p.Decode(&v)
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", data, err)
		}
		var q history.Payload
		if err := json.Unmarshal(again, &q); err != nil {
			t.Fatalf("%q: %v", again, err)
		}
		if twice, err := json.Marshal(q); err != nil || !bytes.Equal(twice, again) {
			t.Fatalf("%q, then %q (%v)", again, twice, err)
		}
	})
}

func FuzzDecodeTurn(f *testing.F) {
	for _, err := range survivors() {
		data, encodeErr := history.EncodeTurn([]history.Event{{Kind: history.CallFailed, Failure: history.FromError(err)}})
		if encodeErr != nil {
			f.Fatal(encodeErr)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"v":1,"events":[{"kind":"CallFailed","failure":{"form":"terminal","message":"","causes":[null]}}]}`))
	f.Add([]byte(`{"v":1,"events":[{"kind":"CallFailed","failure":{"form":"after","data":{"at":-1}}},{"kind":"CallFailed","failure":{"form":"worker-lost"}}]}`))
	f.Add([]byte(`{"v":1,"events":[{"kind":"CallFailed","failure":{"form":"value","type":"history_test.Quota","data":null}}]}`))
	f.Add([]byte(`{"v":1,"events":[{"kind":"CallFailed","failure":{"form":"exhausted","data":{"reason":"stop_rule"}}},{"kind":"CallFailed","failure":{"form":"aborted","data":{"cause":true}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := history.DecodeTurn(data)
		if err != nil {
			return
		}
		for _, e := range events {
			_ = e.Failure.TypeName()
			_ = e.Failure.StackTrace()
			if err := e.Failure.Err(); err != nil {
				_ = err.Error()
				_ = retry.Classify(err)
				_ = history.FromError(err)
			}
		}
		again, err := history.EncodeTurn(events)
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", data, err)
		}
		if _, err := history.DecodeTurn(again); err != nil {
			t.Fatalf("%q was written and cannot be read: %v", again, err)
		}
	})
}

// FuzzFailure makes errors of any text and nesting and sees that they come back.
func FuzzFailure(f *testing.F) {
	f.Add("boom", uint64(0b101101))
	f.Add("\xff", uint64(math.MaxUint64))
	f.Fuzz(func(t *testing.T, text string, shape uint64) {
		before := errors.New(text)
		for range 10 {
			switch shape & 7 {
			case 0:
				before = fmt.Errorf("%s: %w", text, before)
			case 1:
				before = retry.Terminal(before)
			case 2:
				before = errors.Join(before, errDeclined)
			case 3:
				before = &retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: time.Duration(shape), Err: before}
			case 4:
				before = retry.After(before, time.Duration(shape))
			case 5:
				before = &retry.ExhaustedError{Name: text, Attempts: int(shape >> 40), Reason: retry.ReasonBudget, Err: before}
			case 6:
				before = &retry.AbortedError{Attempt: int(shape >> 40), Phase: retry.PhaseQueue, Cause: before, Last: errDeclined}
			}
			shape >>= 3
		}
		first := history.FromError(before)
		after := stored(t, first).Err()
		sameClass(t, before, after)
		want := strings.ToValidUTF8(before.Error(), "\uFFFD")
		if len(want) < 8<<10 && after.Error() != want {
			t.Errorf("the text was %q and is %q", want, after)
		}
		if again := asJSON(t, history.FromError(after)); again != asJSON(t, first) {
			t.Errorf("encoded again it is\n%s\nand was\n%s", again, asJSON(t, first))
		}
	})
}

func TestPayloadsOfAnyValueComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := map[string]any{
			"s": rapid.String().Draw(t, "s"),
			"f": rapid.Float64Range(-1e300, 1e300).Draw(t, "f"),
			"l": rapid.SliceOf(rapid.String()).Draw(t, "l"),
			"m": rapid.MapOf(rapid.String(), rapid.Int64()).Draw(t, "m"),
		}
		p, err := history.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		data, err := history.EncodeTurn([]history.Event{{Kind: history.CallCompleted, Input: p, Result: p}})
		if err != nil {
			t.Fatal(err)
		}
		events, err := history.DecodeTurn(data)
		if err != nil || !sameBytes(events[0].Input, p) || !sameBytes(events[0].Result, p) {
			t.Fatalf("%s became %v (%v)", p, events, err)
		}
	})
}
