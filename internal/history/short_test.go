package history

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/envelope"
	"pgregory.net/rapid"
)

// kinds are all but RunStarted, which is no event of a turn.
var kinds = func() (all []Kind) {
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, parser.SkipObjectResolution)
	if err != nil {
		panic(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, is := n.(*ast.ValueSpec); is && v.Type != nil && v.Type.(*ast.Ident).Name == "Kind" {
			if name, _ := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value); Kind(name) != RunStarted {
				all = append(all, Kind(name))
			}
		}
		return true
	})
	return all
}()

// TestEveryKindIsKnown to those who read it; so none is forgotten where they are listed.
func TestEveryKindIsKnown(t *testing.T) {
	for _, k := range kinds {
		if !k.known() {
			t.Errorf("%s is not known", k)
		}
	}
	if len(kinds) < 35 || RunStarted.known() {
		t.Errorf("%d kinds are listed, and RunStarted is known: %t", len(kinds), RunStarted.known())
	}
}

// drawTurn draws events of all kinds, as engines write them and as none does.
func drawTurn(t *rapid.T) []Event {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Event {
		e := drawEvent(t)
		e.Kind = rapid.SampledFrom(kinds).Draw(t, "kind")
		if rapid.Bool().Draw(t, "first attempt") {
			e.Attempt = 1
		}
		if rapid.Bool().Draw(t, "not queued") {
			e.Queued = e.Started
		}
		return e
	}), 0, 3).Draw(t, "events")
}

// TestI24_TurnsAreReadAsTheyWere: what SealTurn writes is read as it was, whatever the time
// of the turn. encoding/json says how it was.
func TestI24_TurnsAreReadAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawTurn(t)
		time := rapid.Int64().Draw(t, "time")
		plain, err := EncodeTurn(events)
		if err != nil {
			t.Fatal(err)
		}
		want, err := DecodeTurn(plain)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := SealTurn("r", 3, time, events)
		if err != nil || !strings.HasPrefix(string(doc), shortBegin) || !json.Valid(doc) {
			t.Fatalf("%s, %v", doc, err)
		}
		if got, err := new(Words).OpenTurn("r", 3, time, doc); err != nil || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is read as\n%+v, %v, not as\n%+v", doc, got, err, want)
		}
	})
}

// TestI24_EachFieldOfAnEventIsKept: also one that drawTurn does not know.
func TestI24_EachFieldOfAnEventIsKept(t *testing.T) {
	for i := range reflect.TypeFor[Event]().NumField() {
		e := Event{Kind: TimerStarted}
		switch f := reflect.ValueOf(&e).Elem().Field(i); f.Interface().(type) {
		case Kind:
			continue
		case Payload:
			f.Set(reflect.ValueOf(Payload{Encoding: EncodingJSON, Data: []byte("1")}))
		case string:
			f.SetString("text")
		case bool:
			f.SetBool(true)
		case int, int64:
			f.SetInt(7)
		default:
			if f.Kind() == reflect.Slice {
				f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			} else {
				f.Set(reflect.New(f.Type().Elem()))
			}
		}
		doc, err := SealTurn("r", 3, 0, []Event{e})
		if err != nil {
			t.Fatal(err)
		}
		got, err := new(Words).OpenTurn("r", 3, 0, doc)
		if want := []Event{e}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s is read as %+v, %v", reflect.TypeFor[Event]().Field(i).Name, doc, got, err)
		}
	}
}

// TestI24_ATurnOfTheDatabaseIsReadNowhereElse: it does not say when it was, so by itself it
// means nothing.
func TestI24_ATurnOfTheDatabaseIsReadNowhereElse(t *testing.T) {
	doc, err := SealTurn("r", 3, 7, []Event{{Kind: TimerStarted, Call: 1, Due: 9}})
	if want := `{"v":1,"e":[{"k":"timer","c":1,"d":2}],"crc":`; err != nil || !strings.HasPrefix(string(doc), want) {
		t.Errorf("%s, not %s, %v", doc, want, err)
	}
	if events, err := DecodeTurn(doc); err == nil {
		t.Errorf("read as %+v", events)
	}
	body, _ := cutSum(doc, key{"r", 3, 7})
	var d *DamageError
	if events, err := new(Words).OpenTurn("r", 3, 7, append(body, '}')); !errors.As(err, &d) || d.Newer {
		t.Errorf("without its checksum it is read as %+v, %v", events, err)
	}
}

// TestI24_AFieldOfANewerVersionIsPassedOver in turns and recordings.
func TestI24_AFieldOfANewerVersionIsPassedOver(t *testing.T) {
	result, _ := Encode(7)
	want := []Event{{Kind: CallCompleted, Call: 1, Result: result, Ended: 5}}
	plain, short := `{"v":1,"events":[{"kind":"CallCompleted","call":1,"future":{"a":["},{",1]},"result":{"json":7},"z":1,"ended":5}]}`, `{"v":1,"e":[{"k":"done","c":1,"future":{"a":["},{",1]},"r":7,"z":1,"t":-2}]}`
	if got, err := DecodeTurn([]byte(plain)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s is read as %+v, %v", plain, got, err)
	}
	if got, err := new(Words).OpenTurn("r", 3, 7, appendSum([]byte(short), key{"r", 3, 7})); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s is read as %+v, %v", short, got, err)
	}
	for _, doc := range []string{`{"v":1,"e":[{"k":"done","c":1,"future":}]}`, `{"v":1,"e":[{"k":"done","future":[}]]}`, `{"v":1,"e":[{"k":"done","future"}]}`} {
		var d *DamageError
		if got, err := new(Words).OpenTurn("r", 3, 7, appendSum([]byte(doc), key{"r", 3, 7})); !errors.As(err, &d) {
			t.Errorf("%s is read as %+v, %v", doc, got, err)
		}
	}
}

// TestE114_AFaceShowsWhatIsNoValue: of a turn that cannot be decoded, its face shows what that
// of a recording would.
func TestE114_AFaceShowsWhatIsNoValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events, time := drawTurn(t), rapid.Int64().Draw(t, "time")
		plain, err := EncodeTurn(events)
		if err != nil {
			t.Fatal(err)
		}
		short, err := SealTurn("r", 3, time, events)
		if err != nil {
			t.Fatal(err)
		}
		want, err := DecodeTurn(envelope.Face(plain, "shown"))
		if err != nil {
			t.Fatal(err)
		}
		face := envelope.Face(short, "shown")
		if got, is := new(Words).readShort(face, "]}", time); !is || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s shows\n%+v, not\n%+v", face, got, want)
		}
	})
}

func TestShortKindsAreKindsAndNoOtherHasTheirNames(t *testing.T) {
	if len(longKinds) != len(shortKinds) {
		t.Errorf("two kinds have one name: %v", shortKinds)
	}
	for kind, name := range shortKinds {
		if !kind.known() || Kind(name).known() || name != strings.ToLower(name) {
			t.Errorf("%s is called %s", kind, name)
		}
	}
}

// TestI23_AStartEventStandsBesideItsRow: it says nothing that the row says, and is refused
// beside another one or with other bytes. Start events in messages say all themselves.
func TestI23_AStartEventStandsBesideItsRow(t *testing.T) {
	input, _ := Encode(map[string]any{"n": 1})
	start := Start{
		Kind: RunStarted, Format: Format, WorkflowID: "order-1", Run: "run", Type: "flow", Group: "g", Chain: "chain", Attempt: 2, Input: input, Created: 17,
		Settings: Settings{Priority: 3, Attributes: map[string]string{"a": "b"}}, Deadline: 99, Parent: &Parent{WorkflowID: "p", Run: "q"},
	}
	row := start.row()
	doc, err := SealStart(start)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := OpenStart(row, doc); err != nil || !reflect.DeepEqual(got, start) {
		t.Errorf("%s is read as %+v, %v", doc, got, err)
	}
	for _, said := range []string{"order-1", `"run"`, `"flow"`, "chain", `"g"`, "17"} {
		if strings.Contains(strings.ReplaceAll(string(doc), `"run":"q"`, ""), said) {
			t.Errorf("it says %s again: %s", said, doc)
		}
	}
	sent, err := EncodeStart(start)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeStart(sent); err != nil || !reflect.DeepEqual(got, start) {
		t.Errorf("in a message it is read as %+v, %v", got, err)
	}
	if got, err := OpenStart(row, sent); err == nil {
		t.Errorf("one of a message is read in a row as %+v", got)
	}
	for _, other := range []Row{
		{"order-2", row.Run, row.Type, row.Group, row.Chain, row.Attempt, row.Created},
		{row.WorkflowID, "other", row.Type, row.Group, row.Chain, row.Attempt, row.Created},
		{row.WorkflowID, row.Run, "other", row.Group, row.Chain, row.Attempt, row.Created},
		{row.WorkflowID, row.Run, row.Type, "", row.Chain, row.Attempt, row.Created},
		{row.WorkflowID, row.Run, row.Type, row.Group, "other", row.Attempt, row.Created},
		{row.WorkflowID, row.Run, row.Type, row.Group, row.Chain, 1, row.Created},
		{row.WorkflowID, row.Run, row.Type, row.Group, row.Chain, row.Attempt, 18},
		{row.WorkflowID, row.Run + row.Type, "", row.Group, row.Chain, row.Attempt, row.Created},
	} {
		var d *DamageError
		if got, err := OpenStart(other, doc); !errors.As(err, &d) || d.Newer || d.Part != "the start event" {
			t.Errorf("beside %+v it is read as %+v, %v", other, got, err)
		}
	}
	for i := range doc {
		for b := range 256 {
			changed := append([]byte(nil), doc...)
			changed[i] = byte(b)
			if got, err := OpenStart(row, changed); err == nil && !reflect.DeepEqual(got, start) {
				t.Fatalf("%s is read as %+v", changed, got)
			}
		}
	}
	if got, err := DecodeStart(doc); err == nil {
		t.Errorf("without its row it is read as %+v", got)
	}
}
