package history

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is written by hand is read by hand, as encoding/json reads it.
func TestWhatIsWrittenIsReadWithoutReflection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(rapid.Custom(drawEvent), 1, 3).Draw(t, "events")
		data, err := EncodeTurn(events)
		if err != nil {
			t.Fatal(err)
		}
		if !sameAsReflection(t, data) {
			t.Fatalf("not read by hand: %s", data)
		}
	})
}

// oddTurns are not as they are written here.
var oddTurns = []string{
	`{"v":1,"events":[]}`,
	`{"v":01,"events":[{"kind":"A"}]}`,
	`{"v":2,"events":[{"kind":"A"}]}`,
	`{"events":[{"kind":"A"}],"v":1}`,
	`{"v":1,"events":[{"kind":"A"}]} `,
	`{"v":1,"events":[{"kind":"A"}]}]`,
	`{"v":1,"events":[{"kind":"A"},]}`,
	`{"v":1,"events":[{"kind":"A"}`,
	`{"v":1,"events":[{"kind":"A`,
	`{"v":1,"events":[{"kind":null}]}`,
	`{"v":1,"events":[{"KIND":"A"}]}`,
	`{"v":1,"events":[{"kind":"A","call":-0}]}`,
	`{"v":1,"events":[{"kind":"A","call":007}]}`,
	`{"v":1,"events":[{"kind":"A","call":1e3}]}`,
	`{"v":1,"events":[{"kind":"A","call":1.0}]}`,
	`{"v":1,"events":[{"kind":"A","call":9223372036854775808}]}`,
	`{"v":1,"events":[{"kind":"A","call":}]}`,
	`{"v":1,"events":[{"kind":"A","future":[1,2]}]}`,
	`{"v":1,"events":[{"kind":"A","closed":false}]}`,
	`{"v":1,"events":[{"kind":"A","input":{"json": 1 }}]}`,
	`{"v":1,"events":[{"kind":"A","input":{"json":}}]}`,
	`{"v":1,"events":[{"kind":"A","input":{"json":[}]}}]}`,
	`{"v":1,"events":[{"kind":"A","input":{"json":1,"encoding":"x"}}]}`,
	`{"v":1,"events":[{"kind":"A","policy":{"max_attempts":"x"}}]}`,
}

func TestOddTurnsAreReadAsReflectionReadsThem(t *testing.T) {
	for _, text := range oddTurns {
		if sameAsReflection(t, []byte(text)) {
			t.Errorf("this was read by hand, and is not as turns are written: %s", text)
		}
	}
}

// sameAsReflection reports whether a turn is read by hand, and fails if encoding/json
// reads it differently.
func sameAsReflection(t rapid.TB, data []byte) bool {
	t.Helper()
	events, byHand := readTurn(data, "]}", new(Words))
	if !byHand {
		return false
	}
	var want document
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatalf("%s was read by hand, but: %v", data, err)
	}
	if want.Format != Format || !reflect.DeepEqual(events, want.Events) {
		t.Fatalf("%s\ngives %+v\nwant  %+v", data, events, want)
	}
	return true
}

func TestFieldsMayStandInAnyOrder(t *testing.T) {
	for _, text := range []string{
		`{"v":1,"events":[{"kind":"A","name":"x","call":1}]}`,
		`{"v":1,"events":[{"kind":"A","call":1,"call":2,"policy":{"max_attempts":3},"policy":{"non_retryable":["x"]}}]}`,
	} {
		if !sameAsReflection(t, []byte(text)) {
			t.Errorf("this was left to reflection: %s", text)
		}
	}
}

func TestWordsAreKeptOnceAndNeverMixedUp(t *testing.T) {
	var words Words
	rapid.Check(t, func(t *rapid.T) {
		if b := rapid.SliceOfN(rapid.ByteRange('a', 'c'), 0, 4).Draw(t, "text"); words.text(b) != string(b) {
			t.Fatalf("%q became %q", b, words.text(b))
		}
	})
	node := []byte("host:1234/abcdef01")
	words.text(node)
	if n := testing.AllocsPerRun(10, func() { words.text(node) }); n != 0 {
		t.Errorf("a text that was read before took %v allocations", n)
	}
}

func FuzzReadTurn(f *testing.F) {
	for _, text := range oddTurns {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"v":1,"events":[{"kind":"CallCompleted","call":1,"input":{"json":{"a":["}",1]}},"result":{"encoding":"x","bytes":"AA=="},` +
		`"failure":{"type":"T","message":"\u00e9"},"policy":{"max_attempts":3},"due":-1,"closed":true,"child":{"run":"r"}},{"kind":"RunCompleted"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) { sameAsReflection(t, data) })
}

func BenchmarkDecodeTurn(b *testing.B) {
	in, _ := Encode(map[string]int{"n": 1})
	data, err := EncodeTurn([]Event{
		{Kind: AttemptStarted, Call: 1, Attempt: 1, Node: "host:1234/abcdef01", Queued: 1 << 60, Started: 1 << 60},
		{Kind: CallCompleted, Call: 1, Result: in, Ended: 1 << 60},
		{Kind: ActivityScheduled, Call: 2, Name: "charge", Input: in},
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, data string }{
		{"as written", string(data)},
		{"by reflection", strings.Replace(string(data), ":", ": ", 1)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := DecodeTurn([]byte(c.data)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
