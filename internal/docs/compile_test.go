package docs

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// exports says where the compiled packages are that snippets import. Those below lab
// are of a module of its own, which is asked for them.
var exports = sync.OnceValues(func() (map[string]string, error) {
	paths := map[string][]string{}
	for _, path := range slices.Sorted(maps.Values(packages)) {
		dir := "."
		if strings.HasPrefix(path, module+"/lab/") {
			dir = "lab"
		}
		paths[dir] = append(paths[dir], path)
	}
	files := map[string]string{}
	for _, dir := range []string{"lab", "."} {
		args := []string{"list", "-e", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
		cmd := exec.Command("go", append(args, paths[dir]...)...)
		cmd.Dir = filepath.Join(Root(), dir)
		out, err := cmd.Output()
		if err != nil {
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				err = fmt.Errorf("go list: %w\n%s", err, exit.Stderr)
			}
			return nil, err
		}
		for line := range strings.Lines(string(out)) {
			if path, file, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				files[path] = file
			}
		}
	}
	return files, nil
})

// compiler type-checks snippets.
type compiler struct {
	fset     *token.FileSet
	importer types.Importer
}

func newCompiler(t *testing.T) *compiler {
	files, err := exports()
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	return &compiler{fset: fset, importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("no package is called %s", path)
		}
		return os.Open(files[path])
	})}
}

// check compiles the n-th block of a page, together with what the page has in
// comments and what its earlier blocks declare, as a reader would. What is used
// further on only may be unused, and a name may mean something new.
func (c *compiler) check(p page, n int) error {
	block := p.blocks[n]
	var others []snippet
	switch {
	case block.isProgram() && !strings.Contains(block.code, "func main()"): // another file of the program before it
		for _, earlier := range p.blocks[:n] {
			if earlier.isProgram() {
				others = append(others, earlier)
			}
		}
	case !block.isProgram():
		others = slices.Clone(p.common)
		for _, earlier := range p.blocks[:n] {
			if !earlier.isProgram() && !earlier.isStatements() {
				others = append(others, earlier)
			}
		}
	}
	var files []*ast.File
	for _, s := range append([]snippet{block}, others...) {
		file, err := s.file(c.fset)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	var faults []error
	config := types.Config{Importer: c.importer, Error: func(err error) {
		if fault, ok := errors.AsType[types.Error](err); !ok || !tolerable(fault, block) {
			faults = append(faults, err)
		}
	}}
	_, _ = config.Check(files[0].Name.Name, c.fset, files, nil) // its error is the first of those above
	return errors.Join(faults...)
}

// tolerable reports whether an error is none for the reader of a block.
func tolerable(fault types.Error, block snippet) bool {
	if strings.HasPrefix(fault.Msg, "declared and not used") || strings.HasPrefix(fault.Msg, "\t") {
		return true
	}
	again := strings.Contains(fault.Msg, "redeclared") || strings.Contains(fault.Msg, "already declared")
	return again && !block.has(fault.Fset.Position(fault.Pos))
}

// pages are the documents whose snippets are compiled.
func pages(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(Root(), "docs", "*.md"))
	if err != nil || len(names) == 0 {
		t.Fatal("there are no pages in docs", err)
	}
	return append(names, filepath.Join(Root(), "README.md"))
}

// texts yields the documents of pages with their paths, and then others of the repository.
func texts(t *testing.T, others ...string) iter.Seq2[string, string] {
	t.Helper()
	paths := pages(t)
	for _, name := range others {
		paths = append(paths, filepath.Join(Root(), name))
	}
	return func(yield func(path, text string) bool) {
		t.Helper()
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !yield(path, string(text)) {
				return
			}
		}
	}
}

func TestEverySnippetCompiles(t *testing.T) {
	c := newCompiler(t)
	blocks := 0
	for name, text := range texts(t) {
		rel, err := filepath.Rel(Root(), name)
		if err != nil {
			t.Fatal(err)
		}
		p := readPage(filepath.ToSlash(rel), text)
		for i, block := range p.blocks {
			blocks++
			if err := c.check(p, i); err != nil {
				t.Errorf("The snippet at %s:%d does not compile. What it needs and need not show can stand in a comment of the page, see the documentation of this package.\n%v", block.page, block.line, err)
			}
		}
	}
	if blocks < 20 {
		t.Errorf("only %d snippets were found", blocks)
	}
}

func TestABrokenSnippetIsFound(t *testing.T) {
	c := newCompiler(t)
	for _, test := range []struct{ text, want string }{
		{"```go\nvar p = retry.Policy{MaxAttempts: 3}\n```\n", ""},
		{"```go\npolicy := retry.Policy{MaxAttempts: n}\n```\n<!-- go\nvar n = 5\n-->\n", ""},
		{"```go\nif err := retry.Do(ctx, retry.Never, f); err != nil {\n\treturn err\n}\n```\n<!-- go\nfunc f(context.Context) error { return nil }\n-->\n", ""},
		{"```go\npackage main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println() }\n```\n", ""},
		{"text\n```go\nvar p = retry.Policy{MaxAttempts: 3}\nvar q = retry.Policy{Atempts: 3}\n```\n", "x.md:4:"},
		{"```go\nvar a = 1\n```\n```go\nvar b = a\nvar a2 = b\n```\n", ""},
		{"```go\nvar a = 1\n```\n```go\nvar a = \"\"\nvar b string = a\n```\n", ""},
		{"```go\nvar a = 1\nvar a = 2\n```\n", "a redeclared"},
		{"```go\nx := unknown()\n```\n", "undefined: unknown"},
		{"```go\nvar s string = 1\n```\n", "string"},
		{"```go\nfor {\n```\n", "x.md:4:"},
		{"```go\npackage main\n\nfunc main() { fmt.Println() }\n```\n", "undefined: fmt"},
	} {
		p := readPage("x.md", test.text)
		if len(p.blocks) == 0 {
			t.Fatalf("no block in %q", test.text)
		}
		err := c.check(p, len(p.blocks)-1)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
}
