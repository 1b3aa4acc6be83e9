package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// address is the form of a constant of package see.
var address = regexp.MustCompile(`^\(see docs/([a-z-]+\.md)#([a-z0-9-]+)\)$`)

// TestErrorsLeadToSections holds each constant of package see to a heading, and to an error that
// has it, and writes the texts of these errors into docs/errors.md. No other text of an error names
// a page.
func TestErrorsLeadToSections(t *testing.T) {
	texts, others := addressed(t)
	for _, other := range others {
		t.Error(other + ": an error leads to a page by a constant of package see")
	}
	var rows [][]string
	for _, c := range constants(t, "internal/see/see.go", "The sections") {
		m := address.FindStringSubmatch(c.value)
		if m == nil || c.doc == "" {
			t.Errorf("see.%s is %q, with the comment %q", c.name, c.value, c.doc)
			continue
		}
		page, err := os.ReadFile(filepath.Join(Root(), "docs", m[1]))
		if err != nil {
			t.Errorf("see.%s: %v", c.name, err)
			continue
		}
		title := titleOf(string(page), m[2])
		if title == "" {
			t.Errorf("see.%s: docs/%s has no heading for #%s", c.name, m[1], m[2])
		}
		if len(texts[c.name]) == 0 {
			t.Errorf("see.%s is in no error: delete it", c.name)
		}
		slices.Sort(texts[c.name])
		for _, text := range slices.Compact(texts[c.name]) {
			rows = append(rows, []string{text, fmt.Sprintf("[%s: %s](%s#%s)", strings.TrimSuffix(m[1], ".md"), title, m[1], m[2])})
		}
	}
	Section(t, *update, "errors.md", "errors", table([]string{"the text says", "read"}, rows))
}

// titleOf is the heading of a page that has an anchor, "" if none has.
func titleOf(page, anchor string) (title string) {
	eachProseLine(page, func(_ int, line string) {
		if strings.HasPrefix(line, "#") && headings(line)[anchor] {
			title = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
	})
	return title
}

// addressed returns the texts that have a constant of package see, by its name, and where else a
// text in a call names a page.
func addressed(t *testing.T) (texts map[string][]string, others []string) {
	t.Helper()
	texts = map[string][]string{}
	err := filepath.WalkDir(Root(), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || isModule(path) || path == filepath.Join(Root(), "internal", "docs")):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		inFile(file, func(name, text string) { texts[name] = append(texts[name], text) },
			func(at token.Pos) { others = append(others, fset.Position(at).String()) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts, others
}

// isModule reports whether a directory is another module than that of the library.
func isModule(path string) bool {
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil && filepath.Clean(path) != filepath.Clean(Root())
}

// inFile calls found for each use of a constant of package see, with the text around it, and other
// for each literal in a call that names a page.
func inFile(file *ast.File, found func(name, text string), other func(at token.Pos)) {
	var above []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.Contains(lit.Value, "docs/") {
			if _, call := above[len(above)-1].(*ast.CallExpr); call {
				other(lit.Pos())
			}
		}
		if name := constantOf(n); name != "" {
			found(name, around(n.(ast.Expr), above))
		}
		above = append(above, n)
		return true
	})
}

// constantOf is the name of a constant of package see, if a node is one.
func constantOf(n ast.Node) string {
	if s, ok := n.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok && x.Name == "see" {
			return s.Sel.Name
		}
	}
	return ""
}

var (
	verb    = regexp.MustCompile(`%[^%\w]*[\w]|%%`)
	nothing = regexp.MustCompile(`^(…[:;]? )+|(:? …)+$`)
)

// around is the text in which a constant stands: that of a sum, or the format of a call. A … stands for
// each value, except at both ends.
func around(constant ast.Expr, above []ast.Node) string {
	whole := constant
	for i := len(above) - 1; i >= 0; i-- {
		switch n := above[i].(type) {
		case *ast.BinaryExpr:
			whole = n
			continue
		case *ast.CallExpr:
			if whole == constant {
				return clean(formatted(n))
			}
		}
		break
	}
	return clean(summed(whole))
}

func clean(text string) string {
	text = strings.NewReplacer("……", "…", " ;", ";", " .", ".", " :", ":").Replace(text)
	return nothing.ReplaceAllString(strings.TrimRight(strings.Join(strings.Fields(text), " "), ".: "), "")
}

func summed(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return summed(e.X) + summed(e.Y)
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value) // the compiler has accepted it
		return text
	}
	if constantOf(e) != "" {
		return ""
	}
	return "…"
}

func formatted(call *ast.CallExpr) string {
	at := slices.IndexFunc(call.Args, func(a ast.Expr) bool { _, text := a.(*ast.BasicLit); return text })
	if at < 0 {
		return ""
	}
	values := call.Args[at+1:]
	return verb.ReplaceAllStringFunc(summed(call.Args[at]), func(verb string) string {
		if verb == "%%" || len(values) == 0 {
			return "%"
		}
		value := values[0]
		values = values[1:]
		if constantOf(value) != "" {
			return ""
		}
		return "…"
	})
}

func TestTextsAroundAConstant(t *testing.T) {
	const source = `package p
var a = errors.New("one " + see.One)
var b = fmt.Errorf("%s: the %d of %q %s: %w", x, 2, y, see.Two, err)
var c = T{Hint: "do " + this + " " + see.Three + "."}
var d = errors.New("read docs/a.md")
var e = T{Long: "docs/a.md"}
`
	file, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	faults := 0
	inFile(file, func(name, text string) { found = append(found, name+": "+text) }, func(token.Pos) { faults++ })
	if want := []string{"One: one", "Two: the … of", "Three: do"}; !slices.Equal(found, want) || faults != 1 {
		t.Errorf("found %q and %d faults, want %q and 1", found, faults, want)
	}
}
