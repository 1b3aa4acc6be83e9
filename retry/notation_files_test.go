package retry_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

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

// The table of keys in the documentation stands between these lines.
const (
	tableBegins = "<!-- Generated from retry.NotationKeys: go test ./retry -run Documented -update -->\n"
	tableEnds   = "<!-- End of the table. -->\n"
)

// TestR21_TheKeysAreDocumented holds the table in docs/notation.md to the one in
// the code.
func TestR21_TheKeysAreDocumented(t *testing.T) {
	const path = "../docs/notation.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(data), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table", path)
	}
	mustEqualFile(t, path, string(data), before+tableBegins+keyTable()+tableEnds+after)
}

// keyTable is the table of keys in Markdown.
func keyTable() string {
	var b strings.Builder
	b.WriteString("| key | where | what it means | without it | in Go |\n|---|---|---|---|---|\n")
	for _, k := range retry.NotationKeys() {
		key := k.Key
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
