package history_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/history"
)

func written(text string) history.Payload {
	return history.Payload{Encoding: history.EncodingJSON, Data: []byte(text)}
}

// TestE11_JSONIsComparedByValue: the order of members, spaces, escapes and the spelling of
// numbers make no difference, also in the digest that a chain keeps of its first input.
func TestE11_JSONIsComparedByValue(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":{"c":2,"d":[3]}}`, `{ "b": {"d": [3], "c": 2}, "a": 1 }`, true},
		{`"<é😀"`, `"\u003c\u00e9\ud83d\ude00"`, true},
		{`"a/b"`, `"a\/b"`, true},
		{`1`, `1.0`, true},
		{`100`, `1e2`, true},
		{`100`, `1E+02`, true},
		{`0`, `-0.00e7`, true},
		{`0.001`, `1e-3`, true},
		{`123.456`, `123456e-3`, true},
		{`1e400`, `10e399`, true},
		{`1000000000000000000000000`, `1e24`, true},
		{`-2.50`, `-2.5`, true},
		{`1e99999999999999999999`, `1e99999999999999999999`, true},

		{`[1,2]`, `[2,1]`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`1e400`, `1e401`, false},
		{`0.1`, `0.10000000000000001`, false},
		{`1`, `-1`, false},
		{`1`, `"1"`, false},
		{`null`, `{}`, false},
		{`{"a":1}`, `{"A":1}`, false},
		{`{"a":null}`, `{}`, false},
		{`{"a":"b"}`, `{"b":"a"}`, false},
		{`1e99999999999999999999`, `1e99999999999999999998`, false},
	} {
		for _, pair := range [][2]history.Payload{{written(c.a), written(c.b)}, {written(c.b), written(c.a)}} {
			if pair[0].Equal(pair[1]) != c.same {
				t.Errorf("%s and %s: equal is %v", pair[0], pair[1], !c.same)
			}
			if origin := history.NewOrigin("w", pair[0]); origin.HasInput(pair[1]) != c.same {
				t.Errorf("%s and %s: the origin is %v", pair[0], pair[1], !c.same)
			}
		}
	}
	for _, other := range []history.Payload{{}, {Encoding: "proto", Data: []byte(`{"a":1}`)}, {Encoding: history.EncodingLocked, Data: []byte(`{"a":1}`)}} {
		if other.Equal(written(`{"a":1}`)) || written(`{"a":1}`).Equal(other) || !other.Equal(other) {
			t.Errorf("%#v is compared as JSON", other)
		}
	}
}

// TestE11_ValuesAreEqualHoweverTheyAreWritten: a value that is written in another order with
// other spaces is the same; one in which a leaf differs is another.
func TestE11_ValuesAreEqualHoweverTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t, 3)
		seed := rapid.Uint64().Draw(t, "seed")
		p, err := history.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		other := written(spelled(v, rand.New(rand.NewPCG(seed, 1))))
		if !json.Valid(other.Data) {
			t.Fatalf("%s is no JSON", other)
		}
		if !p.Equal(other) || !other.Equal(p) {
			t.Errorf("%s and %s differ", p, other)
		}
		if changed := written(spelled([]any{v}, rand.New(rand.NewPCG(seed, 1)))); p.Equal(changed) {
			t.Errorf("%s and %s are equal", p, changed)
		}
	})
}

func drawValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 3+min(depth, 1)*2).Draw(t, "kind")
	switch kind {
	case 0:
		return rapid.SampledFrom([]any{nil, true, false}).Draw(t, "constant")
	case 1:
		return rapid.Int64().Draw(t, "integer")
	case 2:
		return rapid.Float64Range(-1e300, 1e300).Draw(t, "number")
	case 3:
		return rapid.String().Draw(t, "text")
	case 4:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range list {
			list[i] = drawValue(t, depth-1)
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		object[rapid.String().Draw(t, "name")] = drawValue(t, depth-1)
	}
	return object
}

// spelled writes a value as another program might.
func spelled(v any, r *rand.Rand) string {
	space := strings.Repeat(" ", r.IntN(3))
	switch v := v.(type) {
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = spelled(v[i], r)
		}
		return "[" + space + strings.Join(parts, ","+space) + "]"
	case map[string]any:
		var parts []string
		for name, member := range v {
			parts = append(parts, spelled(name, r)+":"+space+spelled(member, r))
		}
		slices.Sort(parts)
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		return "{" + strings.Join(parts, space+",") + space + "}"
	case string:
		var b strings.Builder
		for _, c := range v {
			if c < 0x10000 && (c < ' ' || c == '"' || c == '\\' || r.IntN(2) == 0) {
				fmt.Fprintf(&b, `\u%04X`, c)
			} else {
				b.WriteRune(c)
			}
		}
		return `"` + b.String() + `"`
	case float64:
		if r.IntN(2) == 0 {
			return strconv.FormatFloat(v, 'E', -1, 64)
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}
