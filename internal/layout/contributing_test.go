package layout

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// quoted is what CONTRIBUTING.md sets as code.
var quoted = regexp.MustCompile("`([^`]+)`")

// identifier is a name of Go, perhaps with a package or a type before it.
var identifier = regexp.MustCompile(`^[A-Za-z]\w*(\.[A-Za-z]\w*)*$`)

// TestContributingNamesWhatIsThere: the tables that say where a change belongs name
// packages, files, functions and fields. A file stands in the package that the cell named
// last, a function in the file or package named last or in the contract of stores.
func TestContributingNamesWhatIsThere(t *testing.T) {
	h := load(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	p := &pointers{t: t, house: h, names: map[string][]string{}}
	examples := false
	for _, line := range strings.Split(string(text), "\n") {
		examples = examples || strings.HasPrefix(line, "| Question |")
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) < 2 {
			continue
		}
		p.cell(cells[len(cells)-1])
		if examples {
			p.questions++
		}
	}
	if p.places < 50 || p.questions < 6 { // five and their head
		t.Errorf("CONTRIBUTING.md names %d places and answers %d questions: does this test still find its tables?", p.places, p.questions-1)
	}
}

// pointers are what a page points at.
type pointers struct {
	t                 *testing.T
	house             *house
	names             map[string][]string // declared, by path of a file
	places, questions int
}

// cell follows what a cell points at, in its order.
func (p *pointers) cell(text string) {
	pkg, file := "", ""
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		word := strings.TrimPrefix(m[1], "perdure.")
		if word != m[1] {
			pkg, file = ".", "" // a name of the root
		}
		switch {
		case p.house.packages[word] != nil:
			pkg, file = word, ""
		case strings.HasSuffix(word, ".go"):
			if dir := filepath.Dir(word); dir != "." {
				pkg = dir
			}
			file = filepath.Base(word)
			at := []string{pkg}
			if strings.Contains(text, "each SQL store") && !p.has(pkg, file) {
				at = []string{"store/postgres", "store/sqlite"}
			}
			for _, pkg := range at {
				if !p.has(pkg, file) {
					p.t.Errorf("CONTRIBUTING.md points at the file %s in %q, which is not there: %s", m[1], pkg, text)
				}
			}
		case identifier.MatchString(word):
			p.name(pkg, file, word, text)
		default:
			if _, err := os.Stat(filepath.Join("..", "..", word)); err != nil && strings.Contains(word, "/") {
				p.t.Errorf("CONTRIBUTING.md points at %s, which is not there: %s", word, text)
			}
		}
		p.places++
	}
}

// has reports whether a package has a file.
func (p *pointers) has(pkg, file string) bool {
	known := p.house.packages[pkg]
	return known != nil && slices.Contains(known.GoFiles, file)
}

// name looks for the declaration of a name.
func (p *pointers) name(pkg, file, word, text string) {
	parts := strings.Split(word, ".")
	if p.house.packages[parts[0]] != nil {
		pkg, file, parts = parts[0], "", parts[1:]
	}
	for _, part := range parts {
		if !p.declares(pkg, file, part) && !p.declares("store", "", part) {
			p.t.Errorf("CONTRIBUTING.md points at %s, which %s %s does not declare: %s", word, pkg, file, text)
		}
	}
}

// declares reports whether a package, or one file of it, declares a name: of a function, a
// method, a type, a field or a value.
func (p *pointers) declares(pkg, file, name string) bool {
	if p.house.packages[pkg] == nil {
		return false
	}
	if _, read := p.names[pkg]; !read {
		p.names[pkg] = nil
		for _, s := range sources(p.t, p.house, pkg) {
			ast.Inspect(s.file, func(n ast.Node) bool {
				var idents []*ast.Ident
				switch n := n.(type) {
				case *ast.FuncDecl:
					idents = []*ast.Ident{n.Name}
				case *ast.TypeSpec:
					idents = []*ast.Ident{n.Name}
				case *ast.Field:
					idents = n.Names
				case *ast.ValueSpec:
					idents = n.Names
				}
				for _, id := range idents {
					p.names[s.path] = append(p.names[s.path], id.Name)
					p.names[pkg] = append(p.names[pkg], id.Name)
				}
				return true
			})
		}
	}
	if file != "" {
		return slices.Contains(p.names[pkg+"/"+file], name)
	}
	return slices.Contains(p.names[pkg], name)
}
