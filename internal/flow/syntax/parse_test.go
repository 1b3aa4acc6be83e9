package syntax

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestW11_HostileTexts are refused in milliseconds; the bound of the test is wider,
// because it also runs under the race detector.
func TestW11_HostileTexts(t *testing.T) {
	many := func(s string) string { return strings.Repeat(s, (MaxSize-20)/len(s)) }
	var steps strings.Builder
	for i := range 400 {
		steps.WriteString(strings.Repeat(" ", 4*i) + "if a:\n")
	}
	for name, text := range map[string]string{
		"parentheses":     many("("),
		"brackets":        many("["),
		"braces":          many("{"),
		"lists":           "x = " + many("[") + many("]"),
		"indexes":         many("a["),
		"minus":           "x = " + many("-")[4:],
		"not":             "x = " + many("not "),
		"a long line":     strings.Repeat("x", 50<<20),
		"no UTF-8":        "x = \"\xff\"",
		"zeros":           many("\x00"),
		"quotes":          many("\""),
		"tabs":            many("\t\n"),
		"colons":          many(":"),
		"at":              many("@"),
		"actions":         many("@a() ["),
		"policies":        "@a() " + many("[retry: 1]"),
		"policy names":    "@a() [" + many("a,"),
		"policy lines":    many("@a() [a,\n"),
		"if":              many("if a:\n"),
		"deep":            steps.String(),
		"else":            many("else:\n"),
		"operators":       "x = 1" + many("+1"),
		"fields":          "x = a" + many(".a"),
		"commas":          many("a,"),
		"escapes":         "x = \"" + many("\\q"),
		"digits":          "x = " + many("9"),
		"open over lines": many("(\n"),
		"strange":         many("$ "),
		"comments":        "f(\n" + many("# a comment\n") + ":",
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			_, err := Parse("x.flow", text)
			if took := time.Since(begin); took > 3*time.Second {
				t.Errorf("it took %s", took)
			}
			var faults Diagnostics
			if !errors.As(err, &faults) || len(faults) > MaxFaults+1 {
				t.Fatalf("%d faults, %.200v", len(faults), err)
			}
			if len(err.Error()) > 200_000 {
				t.Errorf("the report has %d bytes", len(err.Error()))
			}
		})
	}
}

// TestW11_NamesInARow: each list of names or arguments has a bound, which it may
// reach.
func TestW11_NamesInARow(t *testing.T) {
	for _, form := range []string{
		"fn f(input: [%], output: []):\n    pass\n", "fn f(input: [], output: [%]):\n    pass\n", "% = x\n", "for % in x:\n    pass\n",
		"try:\n    @a()\nexcept %:\n    pass\n", "try:\n    @a()\nexcept (%):\n    pass\n", "f(%)\n",
	} {
		with := func(n int) string { return strings.Replace(form, "%", strings.Repeat("a, ", n-1)+"a", 1) }
		if _, err := Parse("", with(MaxNames)); err != nil {
			t.Errorf("%s: %.200v", form, err)
		}
		_, err := Parse("", with(MaxNames+1))
		var faults Diagnostics
		if !errors.As(err, &faults) || len(faults) != 1 || faults[0].Code != CodeLimit || !strings.Contains(faults[0].Text, "more than 1000 names") {
			t.Errorf("%s: %.500v", form, err)
		}
	}
}

// TestW11_LargeFiles are read all the same, up to the bound.
func TestW11_LargeFiles(t *testing.T) {
	for name, text := range map[string]string{
		"statements": strings.Repeat("x = @a(b=1) [retry: 3]\n", 40_000),
		"list":       "x = [" + strings.Repeat("1, ", 100_000) + "]\n",
		"nested":     "x = " + strings.Repeat("(", MaxNesting-2) + "1" + strings.Repeat(")", MaxNesting-2),
		"operators":  "x = 1" + strings.Repeat(" + 1", MaxOperators),
	} {
		t.Run(name, func(t *testing.T) { roundTrip(t, name, text) })
	}
}

func TestW2_EntryPoint(t *testing.T) {
	for text, want := range map[string]string{
		"x = 1": "main",
		"fn a(input: [], output: []):\n    pass\nfn b(input: [], output: []):\n    pass\n":    "a",
		"fn a(input: [], output: []):\n    pass\nfn main(input: [], output: []):\n    pass\n": "main",
	} {
		f, err := Parse("", text)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Main().Name.Name; got != want {
			t.Errorf("%q begins at %s, want %s", text, got, want)
		}
	}
}

// TestPositions compares what the spans of a tree cut out of the text.
func TestPositions(t *testing.T) {
	const text = "é = 1\nif a == (b):\n    x = @h.get(u=\"ü\", v=[1]) [retry: 3]  # c\n"
	f, err := Parse("", "\uFEFF"+text)
	if err != nil {
		t.Fatal(err)
	}
	cut := func(n Node) string { return f.Text[n.Range().From:n.Range().To] }
	body := f.Functions[0].Body.Statements
	assign := body[1].(*If).Clauses[0].Body.Statements[0].(*Assign)
	action := assign.Value.(*Action)
	for got, want := range map[string]string{
		cut(body[0]):                            "é = 1",
		cut(body[1].(*If).Clauses[0].Condition): "a == (b)",
		cut(assign.Targets[0]):                  "x",
		cut(action):                             `@h.get(u="ü", v=[1]) [retry: 3]`,
		cut(action.Name):                        "h.get",
		cut(action.Args[1].Value):               "[1]",
		cut(action.Brackets):                    "[retry: 3]",
		cut(body[1].(*If).Clauses[0].Body):      cut(assign),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if p := f.Position(action.Args[1].Value.Range().From); p != (Position{3, 25}) {
		t.Errorf("the list stands at %v", p)
	}
}

func TestDiagnosticsOfLongLines(t *testing.T) {
	_, err := Parse("f.flow", "x = \""+strings.Repeat("é", 500)+"\" $ "+strings.Repeat("y", 500))
	var faults Diagnostics
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	d := faults[0]
	if d.Column != 508 || d.Before > shownWidth || len([]rune(d.Source)) > shownWidth || []rune(d.Source)[d.Before] != '$' {
		t.Errorf("%+v", d)
	}
}

func TestFaultsAreInTheOrderOfTheText(t *testing.T) {
	_, err := Parse("a.flow", "x = )\ny = )\n")
	if want := "a.flow:1:5: \")\" stands where an expression should\n    x = )\n        ^\na.flow:2:5:"; !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
}

func FuzzW12_Parse(f *testing.F) {
	for _, seed := range []string{
		"x = 1\n", "fn main(input: [a], output: [b]):\n    b = @x.y(z=a) [retry: 3, backoff: 1m] [timeout: 2m]\n    return b\n",
		"if a:\n    pass\nelif b: # c\n    break\nelse:\n    # d\n    continue\n", "try:\n    @a()\nexcept (A, \"b c\") as e:\n    sleep 1\n",
		"a, b = parallel:\n    @a()\n    f(1)\n", "x = spread [1, -2.5]: y -> @f(y=y)\n", "x = not a == b and -(-1) in {\"k\": [None, True]}\n",
		"x = [\n    1, # one\n    2]\n", "\tx", "@a() [A, B -> retry: 1] [", "((((", "x = \"\\u00e9\" 'a'", "\n\n# a\n\nx = 1  # b\n# c",
		"try [A -> retry: 3]:\n    x = f(1) [retry: 2, backoff: 1s] + f(2)[0]\n    y = wait signal a [timeout: 2d]\n", "wait signal \"a b\" [\n",
		"gate g [limit: 2, rate: 5/1s]\nx = spread [1] [limit: 2, errors: values]: y -> @a(x=y) [gate: g]\nparallel [limit: 1]:\n    f(1)\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("f", text)
		if err != nil {
			if err.Error() == "" {
				t.Error("the error says nothing")
			}
			return
		}
		_ = file
		roundTrip(t, "fuzz", text)
	})
}

// TestW1_Names: a comment ends with its line and is none inside of a text, a word
// that begins like a keyword is a name, and not takes in a comparison.
func TestW1_Names(t *testing.T) {
	for text, want := range map[string]string{
		"returned = 1 # return":    "implicit\n  assign [returned] 1  # return\n",
		"x = \"# no comment\"":     "implicit\n  assign [x] \"# no comment\"\n",
		"forx = notx + orx - inx":  "implicit\n  assign [forx] (- (+ notx orx) inx)\n",
		"x = not a == b":           "implicit\n  assign [x] (not (== a b))\n",
		"x = not a in b and not c": "implicit\n  assign [x] (and (not (in a b)) (not c))\n",
	} {
		f, err := Parse("", text)
		if err != nil {
			t.Fatal(err)
		}
		if got := dump(f); got != want {
			t.Errorf("%s\n%s\nwant\n%s", text, got, want)
		}
	}
}
