package elsewhere

import (
	"fmt"
	"go/ast"
	"go/parser"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// imports are the packages of each section of the page, by its heading.
var imports = map[string][]string{
	"Temporal":     {"time", "go.temporal.io/sdk/temporal", "go.temporal.io/sdk/workflow"},
	"DBOS":         {"context", "errors", "github.com/dbos-inc/dbos-transact-golang/dbos"},
	"River":        {"context", "errors", "github.com/riverqueue/river"},
	"A retry loop": {"context", "errors", "time"},
}

// needs is what the page shows in its own code, or need not show.
const needs = `
type Order struct{ ID string }
type Receipt struct{ ID string }
var ErrDeclined = errors.New("declined")
func reserve(context.Context, Order) (string, error) { return "", nil }
func charge(context.Context, Order) (Receipt, error) { return Receipt{}, nil }
`

// more is what only some sections need.
var more = map[string]string{
	"Temporal": "func Reserve(context.Context, Order) (string, error) { return \"\", nil }\nfunc Charge(context.Context, Order) (Receipt, error) { return Receipt{}, nil }\n",
}

// shown is the code of a section of the page, and the line of the page where it begins.
type shown struct {
	section, code string
	line          int
}

// foreign are the blocks of the page that show code of others.
func foreign(page string) (blocks []shown) {
	var section string
	var at *shown
	for i, line := range strings.Split(strings.ReplaceAll(page, "\r\n", "\n"), "\n") {
		heading, is := strings.CutPrefix(line, "## ")
		switch {
		case at != nil && line == "```":
			blocks, at = append(blocks, *at), nil
		case at != nil:
			at.code += line + "\n"
		case is:
			section = heading
		case line == "```golang":
			at = &shown{section: section, line: i + 2}
		}
	}
	return blocks
}

// check type-checks a block of the page against the modules it is written for.
func (b shown) check(l *library) error {
	head := "package page\n"
	for _, path := range imports[b.section] {
		head += fmt.Sprintf("import %q\n", path)
	}
	code := b.code
	if !strings.Contains(code, "func ") { // statements
		code = "func _(ctx context.Context, o Order) (receipt Receipt, err error) {\n" + code + "return receipt, err\n}\n"
	}
	var files []*ast.File
	for _, text := range []string{
		head + fmt.Sprintf("//line coming-from.md:%d\n", b.line) + code,
		"package page\nimport (\n\"context\"\n\"errors\"\n)\n" + needs + more[b.section],
	} {
		file, err := parser.ParseFile(l.fset, "page.go", text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	l.imports = nil
	_, err := l.check("page", files, false)
	return err
}

// TestTheCodeOfOthersCompiles type-checks what docs/coming-from.md shows of other systems,
// and finds what is wrong in code that is nearly so.
func TestTheCodeOfOthersCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the source of four large modules")
	}
	l, err := load("errors", "context", "time")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "coming-from.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, block := range foreign(string(page)) {
		seen[block.section] = true
		if err := block.check(l); err != nil {
			t.Errorf("%s: %v", block.section, err)
		}
	}
	for section := range imports {
		if !seen[section] {
			t.Errorf("the page shows no code of %s", section)
		}
	}
	for old, now := range map[string]string{"dbos.Context": "dbos.DBOSContext", "WithStepMaxRetries(2)": `WithStepMaxRetries("2")`, "MaximumAttempts": "MaxAttempts", "JobCancel(err)": "JobCancel()"} {
		wrong := foreign(strings.ReplaceAll(string(page), old, now))
		found := false
		for _, block := range wrong {
			found = found || block.check(l) != nil
		}
		if !found {
			t.Errorf("%s instead of %s is not found", now, old)
		}
	}
}
