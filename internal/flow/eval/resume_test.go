package eval

import (
	"testing"

	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/internal/goldenfile"
	"pgregory.net/rapid"
)

// stopping are effects of a run that is long enough at every statement. One statement of
// each run passes, or no program would come to its end.
type stopping struct {
	*plain
	asked int
}

func (s *stopping) History() (events, most int) {
	s.asked++
	return min(s.asked-1, 1), 1
}

func (s *stopping) Uncanceled() Effects { return s }

// TestW15_StoppedAtEveryStatement: a program that stops wherever it can, and goes on
// from what is on record, does what it does without a stop.
func TestW15_StoppedAtEveryStatement(t *testing.T) {
	stops := 0
	replay := func(file *syntax.File, fx *plain) (Value, error) {
		v, err := Run(file, nil, &stopping{plain: fx})
		for n := 0; ; n++ {
			p, is := err.(*Paused)
			if !is {
				return v, err
			}
			stops++
			state, err2 := p.State()
			if err2 != nil {
				t.Fatal(err2)
			}
			var next Effects = &stopping{plain: fx}
			if n > 1000 { // it is one that never ends
				next = fx
			}
			v, err = Resume(file, state, next)
		}
	}
	goldenfile.Cases(t, "testdata/programs.txt", func(in string) string { return "---\n" + playBy(t, in, replay) + "\n" })
	if stops < 200 {
		t.Errorf("there were %d stops", stops)
	}
}

// TestW15_ValuesComeBack: all that a variable can have is on record as it is, and
// nothing that looks like a tag is taken for one.
func TestW15_ValuesComeBack(t *testing.T) {
	var value func(depth int) *rapid.Generator[Value]
	key := rapid.SampledFrom([]string{"$dict", "$error", "$secret", "$", "a", ""})
	value = func(depth int) *rapid.Generator[Value] {
		return rapid.Custom(func(t *rapid.T) Value {
			kind := rapid.IntRange(0, 7).Draw(t, "kind")
			if depth == 0 && kind > 4 {
				kind = 0
			}
			switch kind {
			case 0:
				return rapid.Int64().Draw(t, "n")
			case 1:
				return rapid.Float64Range(-1e9, 1e9).Draw(t, "f")
			case 2:
				return rapid.SampledFrom([]string{"", "$dict", "x<&>", "\u2028"}).Draw(t, "s")
			case 3:
				return nil
			case 4:
				err := fault(rapid.SampledFrom([]string{"A", "KeyError"}).Draw(t, "type"), "it failed")
				return exception(&CallError{"f", 1, 2, "act", err})
			case 5:
				items := rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "items")
				l, _ := NewList(items)
				return l
			}
			d := NewDict()
			for range rapid.IntRange(0, 2).Draw(t, "keys") {
				_ = d.set(key.Draw(t, "key"), value(depth-1).Draw(t, "value"))
			}
			return d
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		v := value(4).Draw(t, "value")
		data, err := encodeTagged(v)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeTagged(data)
		if err != nil || !Equal(v, back) {
			t.Fatalf("%s: %v", data, err)
		}
		again, err := encodeTagged(back)
		if err != nil || string(again) != string(data) {
			t.Fatalf("%s comes back as %s: %v", data, again, err)
		}
	})
}

// TestW15_StatesThatCannotBeRead are errors.
func TestW15_StatesThatCannotBeRead(t *testing.T) {
	file, err := syntax.Parse("", "for x in [1]:\n    y = @echo(x=x)\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"", "{", "[1]", `[{"vars":{"a":{"$what":{}}}}]`, `[{},{},{"items":{}}]`, `[{},{},{"items":[1],"at":-1}]`, `[{},{"at":9}]`, `[{},{"at":-9}]`} {
		if v, err := Resume(file, []byte(state), &plain{Context: t.Context()}); err == nil {
			t.Errorf("%s gives %v", state, v)
		}
	}
}
