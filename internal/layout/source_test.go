package layout

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// source is one parsed file that is not a test.
type source struct {
	path string // for messages: package and file
	file *ast.File
	set  *token.FileSet
}

func (s source) line(pos token.Pos) int { return s.set.Position(pos).Line }

// sources parses the files of a package.
func sources(t *testing.T, h *house, name string) []source {
	t.Helper()
	p := h.packages[name]
	var all []source
	for _, file := range p.GoFiles {
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, filepath.Join(p.Dir, file), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s/%s does not parse: %v", name, file, err)
			continue
		}
		all = append(all, source{path: name + "/" + file, file: parsed, set: set})
	}
	return all
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	h := load(t)
	for _, name := range h.names() {
		for _, s := range sources(t, h, name) {
			if n := s.line(s.file.FileEnd); n > maxFileLines {
				t.Errorf("%s has %d lines; %d is the limit. A file holds one idea: find the second one and give it a file.", s.path, n, maxFileLines)
			}
			for _, d := range s.file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if n := s.line(f.End()) - s.line(f.Pos()) + 1; n > maxFunctionLines {
					t.Errorf("%s:%d: function %s has %d lines; %d is the limit.", s.path, s.line(f.Pos()), f.Name.Name, n, maxFunctionLines)
				}
			}
		}
	}
}

func TestEveryPackageExplainsItself(t *testing.T) {
	h := load(t)
	for _, name := range h.names() {
		begins := "Package " + h.packages[name].Name + " "
		if h.packages[name].Name == "main" {
			begins = "Command " + filepath.Base(name) + " "
		}
		found := false
		for _, s := range sources(t, h, name) {
			if filepath.Base(s.path) == "doc.go" {
				found = strings.HasPrefix(s.file.Doc.Text(), begins)
			}
		}
		if !found {
			t.Errorf("Package %s has no doc.go whose comment begins with %q. It explains the idea of the package to someone new.", name, begins)
		}
	}
}

// listedFile is a line of a doc.go that says what is in a file.
var listedFile = regexp.MustCompile(`(?m)^\t([a-z0-9_]+\.go) +\S`)

func TestListsOfFilesAreWhole(t *testing.T) {
	h := load(t)
	lists := 0
	for _, name := range h.names() {
		all := sources(t, h, name)
		var listed []string
		for _, s := range all {
			if filepath.Base(s.path) != "doc.go" {
				continue
			}
			for _, line := range listedFile.FindAllStringSubmatch(s.file.Doc.Text(), -1) {
				listed = append(listed, line[1])
			}
		}
		if len(listed) == 0 {
			continue
		}
		lists++
		for _, s := range all {
			if file := filepath.Base(s.path); file != "doc.go" && !slices.Contains(listed, file) {
				t.Errorf("%s is not in the list of its doc.go. Say there what is in it.", s.path)
			}
		}
		for _, file := range listed {
			if _, err := os.Stat(filepath.Join(h.packages[name].Dir, file)); err != nil {
				t.Errorf("The doc.go of %s lists %s, which is not there.", name, file)
			}
		}
	}
	if lists == 0 {
		t.Error("No doc.go lists files: this test looks for something else than is there.")
	}
}

func TestPureCodeReadsNoClockAndStartsNothing(t *testing.T) {
	h := load(t)
	for _, name := range pure {
		if h.packages[name] == nil {
			continue
		}
		for _, s := range sources(t, h, name) {
			for _, fault := range impurities(s) {
				t.Errorf("%s:%s Package %s is pure; time is an argument, and what must be done goes back to the caller as a command.", s.path, fault, name)
			}
		}
	}
}

// impurities finds clocks and goroutines.
func impurities(s source) []string {
	var faults []string
	clock := importName(s.file, "time")
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && clock != "" && x.Name == clock && slices.Contains(clocks, n.Sel.Name) {
				faults = append(faults, fmt.Sprintf("%d: time.%s reads a clock.", s.line(n.Pos()), n.Sel.Name))
			}
		case *ast.GoStmt:
			faults = append(faults, fmt.Sprintf("%d: go starts a goroutine.", s.line(n.Pos())))
		}
		return true
	})
	return faults
}

// importName is the name by which a file knows a package, or "".
func importName(file *ast.File, path string) string {
	for _, i := range file.Imports {
		if got, err := strconv.Unquote(i.Path.Value); err != nil || got != path {
			continue
		}
		if i.Name != nil {
			return i.Name.Name
		}
		return path
	}
	return ""
}

func TestImpuritiesAreFound(t *testing.T) {
	const text = "package p\n\nimport clock \"time\"\n\nfunc f(now clock.Time) {\n\t_ = clock.Since(now)\n\tgo f(clock.Now())\n\t_ = now.After(now)\n}\n"
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := impurities(source{path: "p.go", file: file, set: set}); len(got) != 3 {
		t.Errorf("found %q; want Since, go and Now", got)
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	h := load(t)
	for _, name := range h.names() {
		for _, s := range sources(t, h, name) {
			for _, d := range s.file.Decls {
				for _, missing := range undocumented(d) {
					t.Errorf("%s:%d: %s is exported and has no comment.", s.path, s.line(missing.Pos()), missing.Name)
				}
			}
		}
	}
}

// undocumented finds the exported names of a declaration that no comment
// explains. A comment above a group counts for its constants and variables;
// methods count if their type is exported.
func undocumented(d ast.Decl) []*ast.Ident {
	var names []*ast.Ident
	add := func(doc *ast.CommentGroup, found ...*ast.Ident) {
		for _, n := range found {
			if doc == nil && n.IsExported() {
				names = append(names, n)
			}
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || receiver(d).IsExported() && !conventional(d) {
			add(d.Doc, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				add(firstComment(spec.Doc, d.Doc), spec.Name)
			case *ast.ValueSpec:
				add(firstComment(spec.Doc, spec.Comment, d.Doc), spec.Names...)
			}
		}
	}
	return names
}

func firstComment(groups ...*ast.CommentGroup) *ast.CommentGroup {
	for _, g := range groups {
		if g != nil {
			return g
		}
	}
	return nil
}

// conventional reports methods whose meaning the standard library fixes.
func conventional(f *ast.FuncDecl) bool {
	switch f.Name.Name {
	case "Error", "String", "Unwrap", "Is", "As",
		"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText":
		return true
	}
	return false
}

// receiver is the name of the type that has the method.
func receiver(f *ast.FuncDecl) *ast.Ident {
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x
		default:
			return ast.NewIdent("_")
		}
	}
}
