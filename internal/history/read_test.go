package history

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// oddTurns are not as they are written here.
var oddTurns = []string{
	`{"v":01,"e":[{"k":"done"}]}`,
	`{"v":2,"e":[{"k":"done"}]}`,
	`{"v":1,"events":[{"kind":"done"}]}`,
	`{"e":[{"k":"done"}],"v":1}`,
	`{"v":1,"e":[{"k":"done"}]} `,
	`{"v":1,"e":[{"k":"done"}]}]`,
	`{"v":1,"e":[{"k":"done"},]}`,
	`{"v":1,"e":[{"k":"done"}`,
	`{"v":1,"e":[{"k":"done`,
	`{"v":1,"e":[{"k":null}]}`,
	`{"v":1,"e":[{"K":"done"}]}`,
	`{"v":1,"e":[{"k":"done","c":-0}]}`,
	`{"v":1,"e":[{"k":"done","c":007}]}`,
	`{"v":1,"e":[{"k":"done","c":1e3}]}`,
	`{"v":1,"e":[{"k":"done","c":1.0}]}`,
	`{"v":1,"e":[{"k":"done","c":9223372036854775808}]}`,
	`{"v":1,"e":[{"k":"done","c":}]}`,
	`{"v":1,"e":[{"k":"done","future":[}]}`,
	`{"v":1,"e":[{"k":"done","closed":false}]}`,
	`{"v":1,"e":[{"k":"done","i": 1 }]}`,
	`{"v":1,"e":[{"k":"done","i":}]}`,
	`{"v":1,"e":[{"k":"done","i":[}]}]}`,
	`{"v":1,"e":[{"k":"done","policy":{"max_attempts":"x"}}]}`,
}

// TestI24_OddTurnsAreRefused: what no version wrote is read as nothing.
func TestI24_OddTurnsAreRefused(t *testing.T) {
	for _, text := range oddTurns {
		if events, is := new(Words).readShort([]byte(text), "]}", 0); is {
			t.Errorf("%s is read as %+v", text, events)
		}
	}
}

func TestFieldsMayStandInAnyOrder(t *testing.T) {
	for text, want := range map[string]Event{
		`{"v":1,"e":[{"k":"done","n":"x","c":1}]}`:     {Kind: CallCompleted, Name: "x", Call: 1},
		`{"v":1,"e":[{"k":"done","c":1,"c":2,"t":1}]}`: {Kind: CallCompleted, Call: 2, Ended: 8},
	} {
		if got, is := new(Words).readShort([]byte(text), "]}", 7); !is || !reflect.DeepEqual(got, []Event{want}) {
			t.Errorf("%s is read as %+v, %t", text, got, is)
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
