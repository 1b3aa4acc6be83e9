package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/flow/check"
	"github.com/perdure/perdure/flow/eval"
	"github.com/perdure/perdure/flow/syntax"
)

func TestTheTablesOfFlowFiles(t *testing.T) {
	page := func(name string, header []string, rows [][]string) {
		t.Helper()
		Section(t, *update, "flow.md", "flow:"+name, table(header, rows))
	}
	var rows [][]string
	for _, e := range eval.ErrorTypes {
		rows = append(rows, []string{code(e.Type), e.Meaning})
	}
	page("errors", []string{"type", "errors"}, rows)

	rows = nil
	for _, b := range flow.Builtins {
		rows = append(rows, []string{code(b.Form), b.Meaning})
	}
	page("actions", []string{"action", "meaning"}, rows)

	rows = nil
	for _, e := range flow.ErrorTypes {
		rows = append(rows, []string{code(e.Type), e.Meaning})
	}
	page("action-errors", []string{"type", "errors"}, rows)

	rows = nil
	for _, b := range eval.Builtins() {
		rows = append(rows, []string{code(b.Form), b.Meaning})
	}
	page("functions", []string{"function", "result"}, rows)

	rows = nil
	for _, c := range syntax.Codes {
		rows = append(rows, []string{code(c.Code), c.Meaning})
	}
	page("codes", []string{"code in JSON", "what is reported"}, rows)

	rows = nil
	for _, b := range []struct {
		what string
		most int
		unit string
	}{
		{"a file", syntax.MaxSize, "bytes"},
		{"brackets and blocks inside one another", syntax.MaxNesting, "levels"},
		{"operators in one statement", syntax.MaxOperators, ""},
		{"work without waiting for anything", eval.MaxSteps, "steps"},
		{"functions that call each other", eval.MaxCalls, "levels"},
		{"a value, and so the result of a run", eval.MaxValue, "bytes"},
		{"elements of a spread", eval.MaxSpread, ""},
	} {
		rows = append(rows, []string{b.what, strings.TrimSpace(fmt.Sprintf("%d %s", b.most, b.unit))})
	}
	page("bounds", []string{"what", "at most"}, rows)
}

// TestFlowFilesOfPagesAreRight checks every flow file that stands in a page. Their
// actions exist, whatever they are called.
func TestFlowFilesOfPagesAreRight(t *testing.T) {
	runtime, err := flow.New(flow.AllowShell(), flow.Files(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range []string{"README.md", "docs/flow.md"} {
		text, err := os.ReadFile(filepath.Join(Root(), filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "```flow\n")
		for _, part := range parts[1:] {
			found++
			program, _, _ := strings.Cut(part, "```")
			known := runtime.Known()
			for _, action := range []string{"work", "fetch", "report", "charge", "tell"} {
				known[action] = check.Action{Open: true}
			}
			if _, err := check.Text(name, program, known); err != nil {
				t.Errorf("%s: %v\n%s", name, err, program)
			}
		}
	}
	if found < 4 {
		t.Errorf("only %d flow files were found", found)
	}
}
