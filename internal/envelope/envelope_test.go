package envelope_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/envelope"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
)

// TestE114_EveryFieldOfADocumentHasItsPlaceInFaces goes through the types that are written into
// documents. A field that is new has to be put into the table: until then it is left out of
// faces. No face has a value of a user's type.
func TestE114_EveryFieldOfADocumentHasItsPlaceInFaces(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(of reflect.Type)
	walk = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(of.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[of] || !strings.Contains(of.PkgPath(), "perdure") {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-":
				continue
			case name == "" && f.Anonymous:
				walk(f.Type)
				continue
			case name == "":
				continue // of the notation of policies and gates, which has its own form
			}
			if !envelope.Known(name) {
				t.Errorf("%s.%s is called %q, of which internal/envelope/face.go does not say what becomes of it in faces", of, f.Name, name)
			}
			if p := f.Type; p == reflect.TypeFor[history.Payload]() || p == reflect.TypeFor[*history.Payload]() || p == reflect.TypeFor[json.RawMessage]() {
				if of == reflect.TypeFor[history.Payload]() {
					continue
				}
				if face := envelope.Face([]byte(`{"`+name+`":{"json":"planted"}}`), "shown"); bytes.Contains(face, []byte("planted")) {
					t.Errorf("the face of %s.%s has its value: %s", of, f.Name, face)
				}
				continue
			}
			if envelope.Opened(name) {
				walk(f.Type)
			}
		}
	}
	for _, of := range []any{
		history.Event{}, history.Start{}, core.Detail{}, core.AttemptDetail{}, core.Progress{}, core.Control{}, core.FromChild{}, core.ToSchedule{}, message.Data{},
	} {
		walk(reflect.TypeOf(of))
	}
}

func TestE114_Faces(t *testing.T) {
	for doc, want := range map[string]string{
		`{"v":1,"events":[{"kind":"A","call":2,"name":"charge","input":{"json":{"a":[1,"}"]}},"failure":{"type":"T","message":"no\"","data":{"x":1},"causes":[{"message":"m"}]}}],"crc":1}`:     `{"v":1,"events":[{"kind":"A","call":2,"name":"charge","input":{"locked":"shown, 13 bytes"},"failure":{"type":"T","message":"(shown)","causes":[{"message":"(shown)"}]}}]}`,
		` { "run" : "r" , "reason" : "why" , "last" : 5 , "after": "x", "unknown": "u", "result": null, "details": {"json":{}} } `:                                                              `{"run":"r","reason":"(shown)","last":5,"after":"x","details":{"locked":"shown, 2 bytes"}}`,
		`{"paused":{"by":"ann","reason":"secret","at":7},"input":"digest"}`:                                                                                                                     `{"paused":{"by":"ann","reason":"(shown)","at":7}}`,
		`{"v":2,"e":[{"k":"done","c":1,"r":{"a":["planted"]},"t":-5},{"k":"call","c":2,"n":"x","i":"planted","policy":{"p":1}},{"k":"signal","I":{"encoding":"x","bytes":"planted"}}],"crc":1}`: `{"v":2,"e":[{"k":"done","c":1,"R":{"locked":"shown, 17 bytes"},"t":-5},{"k":"call","c":2,"n":"x","I":{"locked":"shown, 9 bytes"},"policy":{"p":1}},{"k":"signal","I":{"locked":"shown, 34 bytes"}}]}`,
		`{}`: `{}`, `[1]`: ``, `null`: ``, `{"a`: ``, ``: ``,
	} {
		if got := string(envelope.Face([]byte(doc), "shown")); got != want {
			t.Errorf("the face of %s is\n%s, not\n%s", doc, got, want)
		}
	}
}

func FuzzFace(f *testing.F) {
	f.Add([]byte(`{"events":[{"kind":"A","input":{"json":"x"}}],"last":{"message":"m"}}`))
	f.Add([]byte(` {"a" : [ ] , "retry":{"errors":[ {} , 1 ]}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		face := envelope.Face(doc, "shown")
		if face != nil && !json.Valid(face) {
			t.Errorf("the face of %s is no JSON: %s", doc, face)
		}
	})
}

// FuzzE65_Parse: a damaged envelope is an error or another envelope, never a panic, and an
// envelope is read as it was written.
func FuzzE65_Parse(f *testing.F) {
	e := &envelope.Envelope{Layers: []envelope.Layer{{Codec: "aes-gcm", Label: "k"}}, Shown: "encrypted", Of: "r", Face: []byte("{}"), Body: []byte("body")}
	f.Add(e.Bytes())
	f.Add([]byte("\x00pc1\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		e, err := envelope.Parse(doc)
		if err != nil {
			return
		}
		again, err := envelope.Parse(e.Bytes())
		if err != nil || !reflect.DeepEqual(again, e) && !bytes.Equal(again.Bytes(), e.Bytes()) {
			t.Errorf("%+v became %+v, %v", e, again, err)
		}
	})
}
