package check

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/internal/goldenfile"
)

// actions are those of the test programs.
var actions = Actions{
	"fetch":     {Parameters: []Parameter{{Name: "url", Required: true, Kind: KindText}, {Name: "headers", Kind: KindDict}}},
	"ping":      {},
	"log":       {Parameters: []Parameter{{Name: "message", Required: true}}, Errors: NoErrors},
	"http.get":  {Parameters: []Parameter{{Name: "url", Required: true}}, Errors: HTTPErrors},
	"http.post": {Parameters: []Parameter{{Name: "url", Required: true}}},
	"shell.run": {Parameters: []Parameter{{Name: "command", Required: true}}, Off: "Allow it with --allow-shell."},
	"any":       {Open: true},
}

// TestW9_WrongPrograms holds what is said about wrong programs to a file in which
// each stands behind a line "===", and what is said about it behind "---".
func TestW9_WrongPrograms(t *testing.T) {
	cases := goldenfile.Cases(t, "testdata/wrong.txt", func(in string) string {
		_, err := Text("", strings.ReplaceAll(strings.TrimSuffix(in, "\n"), "\\t", "\t"), actions)
		var faults syntax.Diagnostics
		if !errors.As(err, &faults) {
			t.Errorf("nothing is wrong with\n%s", in)
		}
		for _, f := range faults {
			if f.Text == "" || f.Code == "" || f.Line < 1 || f.Column < 1 || f.Width < 1 {
				t.Errorf("%+v", f)
			}
		}
		return fmt.Sprintf("---\n%v\n\n", err)
	})
	if cases < 100 {
		t.Errorf("there are only %d wrong programs", cases)
	}
}

func TestW9_RightPrograms(t *testing.T) {
	for _, text := range []string{
		"@any(a=1, b=2) [retry: 3, backoff: 60]\n",
		"for x in [1]:\n    if x == 1:\n        y = 2\n    else:\n        continue\n    @any(y=y)\n",
		"n = 0\nwhile True:\n    n = n + 1\n    if n > 3:\n        break\n@any(n=n)\n",
		"while True:\n    try:\n        @ping()\n    except Timeout:\n        break\n@ping()\n",
		"fn main(input: [a], output: [b]):\n    try:\n        b = f(a)\n    except (A, B) as e:\n        b = e.message\nfn f(input: [x], output: [y]):\n    if x:\n        return 1\n    @any()\n    fail(\"no\")\n",
		"fn main(input: [], output: [a, b]):\n    a = 1\n    b = 2\n",
		"xs = spread [1, 2]: x -> @any(x=x)\nx, _ = xs\nparallel:\n    @ping()\n    @any(x=x)\n",
		"@ping() [retry: 3, backoff: 1s] [within: 1h]\n",
		"fn main(input: [_], output: [_]):\n    return 1\n",
		"a, b = parallel:\n    @ping()\n    @ping()\nx = [a, b]\n",
		"try:\n    try:\n        fail(\"a\", \"Mine\")\n    except Mine as e:\n        fail(e)\nexcept Mine:\n    pass\n",
		"try:\n    @http.get(url=\"x\") [(HTTPError404, HTTP429, net.OpError, Timeout) -> retry: 1] [timeout: 30]\nexcept (HTTPError5xx, KeyError, net.OpError):\n    pass\n",
		"fn helper(input: [], output: [a]):\n    a = [1]\nfn main(input: [], output: [r]):\n    try [A -> retry: 3]:\n        r = helper() [retry: 3, backoff: 1s]\n        r = helper()[0]\n        wait signal go [timeout: 2d]\n",
		"wait = 1\nsignal = wait\nx = wait signal approval\ny = wait signal \"a b\"\n@any(a=[signal, x, y])\n",
		"kind = \"Mine\"\ntry:\n    fail(\"a\", kind)\nexcept Anything:\n    pass\n",
	} {
		if _, err := Text("", text, actions); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
}

// TestW9_AllFaultsAtOnce finds faults of the text and of the program together.
func TestW9_AllFaultsAtOnce(t *testing.T) {
	_, err := Text("f.flow", "x = )\n@fetc(url=1)\n@ping() [retry: 3, backoff: 10m] [within: 1m]\nbreak\n", actions)
	var faults syntax.Diagnostics
	if !errors.As(err, &faults) || len(faults) != 4 {
		t.Fatalf("%v", err)
	}
	var codes []string
	for i, f := range faults {
		if f.Line != i+1 {
			t.Errorf("%+v", f)
		}
		codes = append(codes, f.Code)
	}
	if fmt.Sprint(codes) != "[syntax unknown_action deadline misplaced]" {
		t.Error(codes)
	}
}

func FuzzW12_Check(f *testing.F) {
	for _, seed := range []string{
		"fn main(input: [a], output: [b]):\n    b = f(a)\nfn f(input: [x], output: [y]):\n    return x\n", "x = {a: 1, \"b\": _}\n",
		"while True:\n    try:\n        break\n    except A, A as e:\n        sleep -1\n", "a, b = parallel:\n    @ping()\n", "x = )\n@fetc(u=1) [retry: 3, backoff: 1h] [within: 1s]\n",
		"gate g [limit: 2, rate: 5/1s]\nx = spread [1] [limit: 2, errors: values]: y -> @a(x=y) [gate: g]\nparallel [limit: 1]:\n    f(1)\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := Text("f", text, actions); err != nil && err.Error() == "" {
			t.Error("the error says nothing")
		}
	})
}
