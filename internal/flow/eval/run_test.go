package eval

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/internal/goldenfile"
)

// play runs a program with a few actions and returns its result, or its error, and
// what the actions were asked for.
func play(t testing.TB, text string) string {
	t.Helper()
	return playBy(t, text, func(file *syntax.File, fx *plain) (Value, error) { return Run(file, nil, fx) })
}

// playBy is play by another way to run a program.
func playBy(t testing.TB, text string, run func(file *syntax.File, fx *plain) (Value, error)) string {
	t.Helper()
	file, err := syntax.Parse("", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var log strings.Builder
	tries := map[string]int64{}
	do := func(_ context.Context, name string, args *Dict) (Value, error) {
		data, err := Encode(args)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&log, "@%s%s\n", name, data)
		switch name {
		case "echo":
			v, _ := args.Get("x")
			return v, nil
		case "flaky": // succeeds at the third attempt
			key, _ := args.Get("key")
			if tries[fmt.Sprint(key)]++; tries[fmt.Sprint(key)] < 3 {
				return nil, fault("NetworkError", "try %d", tries[fmt.Sprint(key)])
			}
			return tries[fmt.Sprint(key)], nil
		}
		kind, _ := args.Get("type")
		return nil, fault(fmt.Sprint(kind), "it failed")
	}
	v, err := run(file, &plain{Context: t.Context(), Do: do})
	if err != nil {
		x := exception(err)
		return log.String() + fmt.Sprintf("fails: %v\nerror: %s, %s, %d\n", err, x.Type, x.Message, x.Attempts)
	}
	data, err := Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return log.String() + string(data) + "\n"
}

// TestW3_Programs holds programs to their results: each stands in
// testdata/programs.txt behind a line "===", and its result behind "---".
func TestW3_Programs(t *testing.T) {
	goldenfile.Cases(t, "testdata/programs.txt", func(in string) string { return "---\n" + play(t, in) + "\n" })
}

// TestW11_Bounds: programs that would not end, or fill the memory, end by an error.
func TestW11_Bounds(t *testing.T) {
	for text, want := range map[string]string{
		"while True:\n    pass\n": "more than 1000000 steps",
		"while True:\n    try:\n        fail(\"x\")\n    except:\n        pass\n":                                        "more than 1000000 steps",
		"x = \"ab\"\nwhile True:\n    x = x + x\n":                                                                       "larger than 2097152 bytes",
		"x = [1]\nwhile True:\n    x = [x, x]\n":                                                                         "larger than 2097152 bytes",
		"x = {}\nwhile True:\n    x = {\"a\": x, \"b\": x}\n":                                                            "larger than 2097152 bytes",
		"x = 1\nfor i in range(2000):\n    x = [x]\n":                                                                    "more than 1000 levels",
		"x = {}\nwhile True:\n    x = {\"a\": x}\n":                                                                      "more than 1000 levels",
		"x = replace(str(range(100000)), \",\", \"\")\nfor i in range(90000):\n    y = len(x)\n":                         "steps",
		"x = replace(str(range(100000)), \",\", \"\")\nfor i in range(90000):\n    for c in x:\n        break\n":         "steps",
		"x = replace(str(range(100000)), \",\", \"\")\nfor i in range(90000):\n    y = x <= x\n":                         "steps",
		"x = replace(str(range(100000)), \",\", \"\")\ny = spread range(1000): i -> @echo(x=x)\n":                        "steps",
		"x = range(9223372036854775807)\n":                                                                               "larger than 2097152 bytes",
		"x = range(-9223372036854775808, 9223372036854775807, 9000000000000000000)\nreturn x\n":                          "",
		"x = parallel(" + strings.Repeat("len(\"a\"), ", 10_001) + ")\n":                                                 "at most 10000 calls",
		"parallel:\n" + strings.Repeat("    len(\"a\")\n", 10_001):                                                       "at most 10000 calls",
		"fn main(input: [], output: [x]):\n    x = main()\n":                                                             "more than 100 levels",
		"x = range(100000)\ny = []\nfor i in x:\n    y = y + x\n":                                                        "larger than 2097152 bytes",
		"x = range(100000)\nfor i in x:\n    y = x == range(100000)\n":                                                   "steps",
		"x = replace(\"" + strings.Repeat("a", 1000) + "\", \"a\", \"" + strings.Repeat("b", 3000) + "\")\n":             "larger than 2097152 bytes",
		"x = spread range(10001): i -> @echo(x=i)\n":                                                                     "at most 10000 elements",
		"x = parse_json(\"" + strings.Repeat("[", 5000) + "\")\n":                                                        "levels deep",
		"x = 1\nfor i in range(200):\n    x = [x]\n    y = str(x)\nx = 1" + strings.Repeat(" + 1", 900) + "\nreturn x\n": "",
	} {
		got := play(t, text)
		if want == "" && strings.Contains(got, "fails") || !strings.Contains(got, want) {
			t.Errorf("%.200s\n%.300s\nwant %s", text, got, want)
		}
	}
}

// TestW3_JSON: what is written is read as the same value.
func TestW3_JSON(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `[1,1.0,-0.0,1e+20,9223372036854775807,-9223372036854775808]`, `{"b":1,"a":{"d":[],"c":{}}}`, `"é<>&\u2028\u0000\""`,
	} {
		v, err := Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		data, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(data)
		if err != nil || !Equal(v, again) {
			t.Errorf("%s was %s (%v)", data, text, err)
		}
		if twice, _ := Encode(again); string(twice) != string(data) {
			t.Errorf("%s was %s", twice, data)
		}
	}
	for text, want := range map[string]string{
		`9223372036854775808`: TypeOverflow, `1e999`: TypeOverflow, `{`: TypeValue, `1 2`: TypeValue, ``: TypeValue, `[1,]`: TypeValue,
		strings.Repeat("[", 2000): TypeLimit,
	} {
		if _, err := Decode([]byte(text)); err == nil || err.(*Error).Type != want {
			t.Errorf("%.20s: %v, want %s", text, err, want)
		}
	}
}

func FuzzW12_Eval(f *testing.F) {
	for _, seed := range []string{
		"x = 1\nfor i in range(5):\n    x = x * 2 + i // 3 % 2\nreturn [x, str(x), -x]\n", "try:\n    @fail(type=\"A\")\nexcept A as e:\n    return e.message\n",
		"fn main(input: [], output: [a, b]):\n    a, b = parallel:\n        @echo(x=1)\n        f(2)\nfn f(input: [x], output: [y]):\n    y = {\"k\": x}[\"k\"]\n",
		"return spread [1, \"a\", None]: x -> @echo(x=x) [retry: 1]\n", "return sorted([3, 1.5, -2]) + slice(split(\"a b c\"), -2) + keys({\"z\": 1})\n",
		"return not 1 in [2] and \"a\" < \"b\" or max(1, 2) == round(2.5)\n", "return parse_json(json({\"a\": [1.0, \"\\u00e9\"]}))\n",
		"x = 1\ntry [retry: 2]:\n    x = x + 1\n    @fail(type=\"A\")\nexcept A as e:\n    return [x, e.attempts]\n",
		"gate g [limit: 2, rate: 5/1s]\nx = spread [1] [limit: 2, errors: values]: y -> @a(x=y) [gate: g]\nparallel [limit: 1]:\n    f(1)\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := syntax.Parse("", text)
		if err != nil || strings.Contains(text, "sleep") || strings.Contains(text, "backoff") || strings.Contains(text, "fixed") || strings.Contains(text, "linear") {
			return // what waits would wait
		}
		do := func(_ context.Context, name string, args *Dict) (Value, error) { return args, nil }
		input := NewDict()
		for _, in := range file.Main().Inputs {
			_ = input.set(in.Name, int64(1))
		}
		v, err := Run(file, input, &plain{Context: t.Context(), Do: do})
		if err != nil {
			return
		}
		data, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(data); err != nil && !strings.Contains(err.Error(), "larger") && !strings.Contains(err.Error(), "levels deep") {
			t.Fatalf("the result %.200s cannot be read: %v", data, err)
		}
	})
}
