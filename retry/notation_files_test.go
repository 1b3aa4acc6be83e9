package retry_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/docs"
	"github.com/perdure/perdure/internal/notation"
	"github.com/perdure/perdure/retry"
)

// TestR24_GoldenErrors holds the errors of wrong texts to a file in which each
// stands in a line of its own, in quotes if it has several lines, and its error
// in an indented line below.
func TestR24_GoldenErrors(t *testing.T) {
	const path = "testdata/notation_errors.golden"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	wrong := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "    ") {
			continue
		}
		got.WriteString(line)
		text := strings.TrimSuffix(line, "\n")
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if unquoted, err := strconv.Unquote(text); err == nil {
			text = unquoted
		}
		if wrong[text] {
			t.Errorf("%q stands there twice", text)
		}
		wrong[text] = true
		p, err := retry.Parse(text)
		if err == nil {
			t.Errorf("%q is accepted as %s", text, p)
			continue
		}
		fmt.Fprintf(&got, "    %s\n", err)
	}
	if len(wrong) < 40 {
		t.Errorf("there are only %d wrong texts", len(wrong))
	}
	mustEqualFile(t, path, string(data), got.String())
}

// mustEqualFile compares a file with what it should be, or rewrites it.
func mustEqualFile(t *testing.T, path, old, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old == text {
		return
	}
	was, is := strings.Split(old, "\n"), strings.Split(text, "\n")
	for i := range max(len(was), len(is)) {
		if i >= len(was) || i >= len(is) || was[i] != is[i] {
			t.Errorf("%s, line %d:\nhas  %q\nwant %q\nIf that is meant, run with -update and read the difference.", path, i+1, was[min(i, len(was)-1)], is[min(i, len(is)-1)])
			return
		}
	}
}

// TestR21_TheKeysAreDocumented holds the table in docs/notation.md to the one in
// the code.
func TestR21_TheKeysAreDocumented(t *testing.T) {
	docs.Section(t, *update, "notation.md", "keys", keyTable())
}

// TestR21_ParseNamesEveryKey: the comment of Parse is what go doc shows of the keys.
func TestR21_ParseNamesEveryKey(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "notation.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var comment string
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Parse" {
			comment = f.Doc.Text()
		}
	}
	for _, k := range notation.Keys {
		line := "\n\t" + k.Name
		if k.Value != "" {
			line += ": "
		}
		if !strings.Contains(comment, line) && k.Name != notation.Stop {
			t.Errorf("the comment of Parse does not say %s", k.Name)
		}
	}
}

// keyTable is the table of keys in Markdown.
func keyTable() string {
	var b strings.Builder
	b.WriteString("| key | where | what it means | without it | in Go |\n|---|---|---|---|---|\n")
	for _, k := range notation.Keys {
		key := k.Name
		if k.Value != "" {
			key += ": " + k.Value
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | `%s` |\n", key, k.Where, k.Means, k.Unset, k.Field)
	}
	return b.String()
}

// TestR25_TheExamplesOfTheDocumentationAreRead: every line of its blocks of
// notation is a policy, and stands beside what it is printed as if that differs.
func TestR25_TheExamplesOfTheDocumentationAreRead(t *testing.T) {
	data, err := os.ReadFile("../docs/notation.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for i, block := range strings.Split(string(data), "```") {
		language, body, _ := strings.Cut(block, "\n")
		if i%2 == 0 || language != "policy" {
			continue
		}
		for line := range strings.Lines(body) {
			mustParse(t, line)
			examples++
		}
	}
	if examples < 10 {
		t.Errorf("there are %d examples", examples)
	}
}
