package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// knownEvents draws the events of a turn.
func knownEvents(t *rapid.T) []Event {
	events := rapid.SliceOfN(rapid.Custom(drawEvent), 1, 3).Draw(t, "events")
	for i := range events {
		events[i].Kind = CallCompleted
	}
	return events
}

// TestI23_NoByteOfATurnChangesUnseen: whatever one byte of a turn becomes, the turn is
// refused, or says what it said.
func TestI23_NoByteOfATurnChangesUnseen(t *testing.T) {
	value, err := Encode(map[string]any{"n": 1, "s": "ü<"})
	if err != nil {
		t.Fatal(err)
	}
	events := []Event{{Kind: AttemptStarted, Call: 1, Attempt: 1, Node: "n"}, {Kind: CallCompleted, Call: 1, Result: value}, {Kind: TimerStarted, Call: 2, Due: 7, Block: 1}}
	doc, err := SealTurn("run", 3, 99, events)
	if err != nil {
		t.Fatal(err)
	}
	for i := range doc {
		for b := range 256 {
			changed := append([]byte(nil), doc...)
			if changed[i] == byte(b) {
				continue
			}
			changed[i] = byte(b)
			if got, err := new(Words).OpenTurn("run", 3, 99, changed); err == nil && !reflect.DeepEqual(got, events) {
				t.Fatalf("byte %d became %q, and the turn\n%s\nis read as %+v", i, byte(b), changed, got)
			}
		}
		if got, err := new(Words).OpenTurn("run", 3, 99, doc[:i]); err == nil {
			t.Fatalf("cut to %d bytes it is read as %+v", i, got)
		}
	}
	if got, err := new(Words).OpenTurn("run", 3, 99, doc); err != nil || !reflect.DeepEqual(got, events) {
		t.Errorf("undamaged it is read as %+v, %v", got, err)
	}
}

// TestI23_TurnsAreOpenedWhereTheyStand: a turn in the place of another one is refused.
func TestI23_TurnsAreOpenedWhereTheyStand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := knownEvents(t)
		run, number, time := rapid.String().Draw(t, "run"), rapid.Int64Min(1).Draw(t, "number"), rapid.Int64().Draw(t, "time")
		doc, err := SealTurn(run, number, time, events)
		if err != nil {
			t.Fatal(err)
		}
		got, err := new(Words).OpenTurn(run, number, time, doc)
		plain, _ := EncodeTurn(events)
		want, _ := DecodeTurn(plain)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is read as %+v, %v", doc, got, err)
		}
		for _, other := range []key{{run + "x", number, time}, {run, number + 1, time}, {run, number, time + 1}} {
			var d *DamageError
			if _, err := new(Words).OpenTurn(other.of, other.a, other.b, doc); !errors.As(err, &d) || d.Turn != other.a || d.Newer {
				t.Fatalf("as turn %+v: %v", other, err)
			}
		}
		var d *DamageError
		if got, err := new(Words).OpenTurn(run, number, time, plain); !errors.As(err, &d) || d.Turn != number || d.Newer {
			t.Fatalf("without a checksum it is read as %+v, %v", got, err)
		}
	})
}

// TestI24_WhatIsNotKnownIsRefused names the format.
func TestI24_WhatIsNotKnownIsRefused(t *testing.T) {
	for _, kind := range []Kind{"", "Future", "callcompleted", RunStarted} {
		events := []Event{{Kind: CallCompleted, Call: 1}, {Kind: kind, Call: 2}}
		doc, _ := SealTurn("r", 4, 1, events)
		plain, _ := EncodeTurn(events)
		const what = "its event 2 is of the kind %q, which is not known in history format 1; run a newer version"
		var d *DamageError
		_, err := new(Words).OpenTurn("r", 4, 1, doc)
		if !errors.As(err, &d) || !d.Newer || d.Turn != 4 || !strings.Contains(err.Error(), fmt.Sprintf("turn 4 cannot be read: "+what, kind)) {
			t.Errorf("%s: %v", doc, err)
		}
		if _, err := DecodeTurn(plain); !errors.As(err, &d) || !d.Newer || !strings.Contains(err.Error(), fmt.Sprintf(what, kind)) {
			t.Errorf("%s: %v", plain, err)
		}
	}
	const later = "history format 2 is not known to this program, which reads format 1; run a newer version"
	var d *DamageError
	for _, doc := range [][]byte{
		[]byte(`{"v":2,"e":[]}`), []byte(`{"v":2,"other":[],"sum":"ab"}`), appendSum([]byte(`{"v":2,"e":[]}`), key{"r", 4, 1}), appendSum([]byte(`{"v":2,"other":[]}`), key{"r", 4, 1}),
	} {
		if _, err := new(Words).OpenTurn("r", 4, 1, doc); !errors.As(err, &d) || !d.Newer || d.Turn != 4 || !strings.Contains(err.Error(), later) {
			t.Errorf("of a later format: %s: %v", doc, err)
		}
	}
	for _, doc := range []string{`{"v":2,"input":1}`, `{"v":2}`} {
		for _, doc := range [][]byte{[]byte(doc), appendSum([]byte(doc), key{a: int64((&Row{}).sum()), b: Format})} {
			if _, err := OpenStart(Row{}, doc); !errors.As(err, &d) || !d.Newer || d.Part != "the start event" || !strings.Contains(err.Error(), later) {
				t.Errorf("of a start event: %s: %v", doc, err)
			}
		}
	}
	for _, doc := range [][]byte{[]byte(`{"kind":"RunStarted","v":2}`), appendSum([]byte(`{"kind":"RunStarted","v":2}`), key{})} {
		if _, err := DecodeStart(doc); !errors.As(err, &d) || !d.Newer || d.Part != "the start event" || !strings.Contains(err.Error(), later) {
			t.Errorf("of a start event: %s: %v", doc, err)
		}
	}
	strange := appendSum([]byte(`{"v":1,"e":[{"c":1,"k":"done"}]}`), key{"r", 4, 1})
	if got, err := new(Words).OpenTurn("r", 4, 1, strange); !errors.As(err, &d) || d.Newer || !strings.Contains(err.Error(), "turn 4 is damaged: it is not as turns of format 1 are written") {
		t.Errorf("%s is read as %+v, %v", strange, got, err)
	}
}

// TestI23_DocumentsAreSealed: whatever one byte becomes, a document is refused or says
// what it said; one without a checksum is refused, also if its value ends as one does.
func TestI23_DocumentsAreSealed(t *testing.T) {
	type inner struct {
		A int `json:"a"`
		C int `json:"crc"`
	}
	type outer struct {
		Name  string `json:"name"`
		Inner inner  `json:"inner"`
	}
	want := outer{"n", inner{1, 2}}
	doc, err := Seal(want)
	if err != nil {
		t.Fatal(err)
	}
	for i := range doc {
		for b := range 256 {
			changed := append([]byte(nil), doc...)
			changed[i] = byte(b)
			var got outer
			if err := Unseal(changed, &got); err == nil && got != want {
				t.Fatalf("%s is read as %+v", changed, got)
			}
		}
	}
	plain, _ := json.Marshal(want)
	var got outer
	var d *DamageError
	if err := Unseal(plain, &got); !errors.As(err, &d) || d.Newer || err.Error() != "it has no checksum" {
		t.Errorf("%s without a checksum is read as %+v, %v", plain, got, err)
	}
	if doc, err := Seal(struct{}{}); err != nil || string(doc) != "{}" || Unseal(doc, &got) != nil || got != (outer{}) {
		t.Errorf("nothing is sealed as %s, %v", doc, err)
	}
}

// TestI23_TheAuthorOfATurn is who wrote it, not who has a copy of it.
func TestI23_TheAuthorOfATurn(t *testing.T) {
	s := Start{Run: "c", Base: &Base{Run: "b", Cuts: []Cut{{Turn: 3, Run: "a"}, {Turn: 6}}}}
	for turn, want := range []string{"a", "a", "a", "b", "b", "b", "c", "c"} {
		if got := s.Author(int64(turn)); got != want {
			t.Errorf("turn %d is of run %s and not of %s", turn, got, want)
		}
	}
}

func FuzzOpenTurn(f *testing.F) {
	for _, text := range oddTurns {
		f.Add([]byte(text))
		f.Add([]byte(strings.TrimSuffix(text, "}") + `,"crc":1}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := new(Words).OpenTurn("r", 1, 1, data)
		if d := (*DamageError)(nil); err != nil && !errors.As(err, &d) {
			t.Fatalf("%q: %v", data, err)
		}
		if err != nil || len(events) == 0 {
			return
		}
		doc, err := SealTurn("r", 1, 1, events)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if _, err := new(Words).OpenTurn("r", 1, 1, doc); err != nil {
			t.Fatalf("%q, then %q: %v", data, doc, err)
		}
	})
}

func BenchmarkSealTurn(b *testing.B) {
	in, _ := Encode(map[string]int{"n": 1})
	events := []Event{
		{Kind: AttemptStarted, Call: 1, Attempt: 1, Node: "host:1234/abcdef01", Queued: 1 << 60, Started: 1 << 60},
		{Kind: CallCompleted, Call: 1, Result: in, Ended: 1 << 60},
		{Kind: ActivityScheduled, Call: 2, Name: "charge", Input: in},
	}
	b.Run("seal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := SealTurn("0123456789abcdef0123456789", 7, 1<<60, events); err != nil {
				b.Fatal(err)
			}
		}
	})
	doc, _ := SealTurn("0123456789abcdef0123456789", 7, 1<<60, events)
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := new(Words).OpenTurn("0123456789abcdef0123456789", 7, 1<<60, doc); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestResultsAreReadByHand: what is read so is what encoding/json reads, and what is
// written otherwise, or is damaged, is left to that.
func TestResultsAreReadByHand(t *testing.T) {
	type detail struct {
		Result *Payload `json:"result,omitempty"`
		Reason string   `json:"reason,omitempty"`
	}
	for _, p := range []Payload{
		{EncodingJSON, []byte(`3`)}, {EncodingJSON, []byte(`null`)}, {EncodingJSON, []byte(`{"crc":[1,"}]"],"é":"\\"}`)},
	} {
		doc, err := Seal(detail{Result: &p})
		if err != nil {
			t.Fatal(err)
		}
		var want detail
		if err := Unseal(doc, &want); err != nil {
			t.Fatal(err)
		}
		if got, is := UnsealResult(doc); !is || got.Encoding != want.Result.Encoding || !bytes.Equal(got.Data, want.Result.Data) {
			t.Errorf("%s: %v, %t", doc, got, is)
		}
		doc[len(`{"result":{"`)] ^= 1
		if _, is := UnsealResult(doc); is {
			t.Errorf("%s is read", doc)
		}
	}
	beside, _ := Seal(detail{Result: &Payload{EncodingJSON, []byte(`3`)}, Reason: "r"})
	nothing, _ := Seal(detail{Result: &Payload{}})
	binary, _ := Seal(detail{Result: &Payload{"binary", []byte{0, 1}}})
	for _, doc := range [][]byte{beside, nothing, binary, []byte(`{"result":{"json":3}}`), []byte(`{}`), nil, appendSum([]byte(`{"result":{"json": 3}}`), key{}), appendSum([]byte(`{"result":{"json":3,}}`), key{})} {
		if got, is := UnsealResult(doc); is {
			t.Errorf("%s is read as %v", doc, got)
		}
	}
}
