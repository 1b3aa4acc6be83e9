package docs

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// excerptMark is the mark of a program in a page: the file that a test or an example runs
// and, unless all of it is shown, the names of declarations.
//
//	<!-- from workflow/example_test.go -->
//	<!-- from perduretest/example_test.go: checkout TestExampleRetry -->
var excerptMark = regexp.MustCompile(`(?m)^<!-- (from ([\w/]+_test\.go)(?:: ([\w ]+))?) -->$`)

// TestPagesShowProgramsThatRun holds the programs of pages to the files of which they are
// excerpts. An example of these files has an output, which go test compares.
func TestPagesShowProgramsThatRun(t *testing.T) {
	shown := 0
	for name, text := range texts(t) {
		for _, mark := range excerptMark.FindAllStringSubmatch(text, -1) {
			source, err := os.ReadFile(filepath.Join(Root(), mark[2]))
			if err != nil {
				t.Fatal(err)
			}
			code, err := excerpt(string(source), strings.Fields(mark[3]))
			if err != nil {
				t.Errorf("%s of %s: %v", mark[1], filepath.Base(name), err)
				continue
			}
			Section(t, *update, filepath.Base(name), mark[1], "```go\n"+code+"```\n")
			shown++
		}
	}
	if shown < 10 {
		t.Errorf("only %d programs were found", shown)
	}
}

// TestPagesThatTeachShowNothingElse: a page that teaches by programs has no Go that nothing runs.
func TestPagesThatTeachShowNothingElse(t *testing.T) {
	for _, name := range []string{"workflows.md", "testing.md"} {
		text, err := os.ReadFile(filepath.Join(Root(), "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		blocks, marks := strings.Count(string(text), "\n```go\n"), len(excerptMark.FindAllString(string(text), -1))
		if blocks != marks || blocks == 0 {
			t.Errorf("%s has %d blocks of Go, of which %d are from files that tests run", name, blocks, marks)
		}
	}
}

// excerpt is what a file declares below its imports, or the declarations with these names.
func excerpt(source string, names []string) (string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", source, parser.ParseComments)
	if err != nil {
		return "", err
	}
	if fault := silent(file); fault != "" {
		return "", fmt.Errorf("%s has no output to compare", fault)
	}
	var found []string
	var out bytes.Buffer
	for _, decl := range file.Decls {
		if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.IMPORT {
			continue
		}
		mine := declared(decl)
		if len(names) > 0 && !slices.ContainsFunc(mine, func(name string) bool { return slices.Contains(names, name) }) {
			continue
		}
		found = append(found, mine...)
		from := decl.Pos()
		if doc := docOf(decl); doc != nil {
			from = doc.Pos()
		}
		fmt.Fprintf(&out, "%s\n\n", source[fset.Position(from).Offset:fset.Position(decl.End()).Offset])
	}
	for _, name := range names {
		if !slices.Contains(found, name) {
			return "", fmt.Errorf("nothing is called %s there", name)
		}
	}
	code, err := format.Source(out.Bytes())
	return strings.TrimSpace(string(code)) + "\n", err
}

// silent is the name of an example of the file that has no output.
func silent(file *ast.File) string {
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Example") {
			continue
		}
		if !slices.ContainsFunc(file.Comments, func(c *ast.CommentGroup) bool {
			return f.Body.Pos() < c.Pos() && c.End() < f.Body.End() && strings.HasPrefix(c.Text(), "Output:")
		}) {
			return f.Name.Name
		}
	}
	return ""
}

// declared are the names that a declaration declares.
func declared(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return []string{d.Name.Name}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

// docOf is the comment above a declaration.
func docOf(decl ast.Decl) *ast.CommentGroup {
	if f, ok := decl.(*ast.FuncDecl); ok {
		return f.Doc
	}
	return decl.(*ast.GenDecl).Doc
}

func TestExcerptOfAFile(t *testing.T) {
	const source = "package p\n\nimport \"fmt\"\n\n// A is one.\nvar A, b = 1, 2\n\nfunc f() {}\n\n// Example is run.\nfunc Example() {\n\tfmt.Println(A)\n\t// Output: 1\n}\n"
	for names, want := range map[string]string{
		"":          "// A is one.\nvar A, b = 1, 2\n\nfunc f() {}\n\n// Example is run.\nfunc Example() {\n\tfmt.Println(A)\n\t// Output: 1\n}\n",
		"b":         "// A is one.\nvar A, b = 1, 2\n",
		"f Example": "func f() {}\n\n// Example is run.\nfunc Example() {\n\tfmt.Println(A)\n\t// Output: 1\n}\n",
	} {
		if got, err := excerpt(source, strings.Fields(names)); got != want || err != nil {
			t.Errorf("%q: %q, %v", names, got, err)
		}
	}
	if _, err := excerpt(source, []string{"g"}); err == nil || !strings.Contains(err.Error(), "nothing is called g") {
		t.Errorf("a name that is not there: %v", err)
	}
	if _, err := excerpt(strings.Replace(source, "// Output: 1", "", 1), nil); err == nil || !strings.Contains(err.Error(), "Example has no output") {
		t.Errorf("an example that is not run: %v", err)
	}
}
