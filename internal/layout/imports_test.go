package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// goPackage is what the go command says of a package.
type goPackage struct {
	Dir          string
	ImportPath   string
	Name         string
	Standard     bool
	Module       *struct{ Path string }
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
	Error        *struct{ Err string }
}

// house is the module as it is: its own packages by their short names, and
// which import paths belong to the standard library.
type house struct {
	module   string
	packages map[string]*goPackage
	standard map[string]bool
}

var loadHouse = sync.OnceValues(func() (*house, error) {
	module, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		return nil, explain(err)
	}
	if err := watchFiles(); err != nil {
		return nil, err
	}
	h := &house{module: strings.TrimSpace(string(module)), packages: map[string]*goPackage{}, standard: map[string]bool{}}
	// -e: a package that does not compile at the moment still has imports.
	listed, err := exec.Command("go", "list", "-e", "-deps", "-test", "-json=Dir,ImportPath,Name,Standard,Module,GoFiles,Imports,TestImports,XTestImports,Deps,Error", h.module+"/...").Output()
	if err != nil {
		return nil, explain(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(listed))
	for {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return h, nil
		} else if err != nil {
			return nil, err
		}
		switch {
		case p.Standard:
			h.standard[p.ImportPath] = true
		case p.Module != nil && p.Module.Path == h.module && !isTestVariant(p.ImportPath):
			h.packages[h.short(p.ImportPath)] = &p
		}
	}
})

// watchFiles looks at every Go file of the module, so that the go command, which
// notes what a test looks at but not what its child processes do, does not take
// an old result of this test from its cache when one of them has changed.
func watchFiles() error {
	root := filepath.Join("..", "..")
	return filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".mod") {
			if _, err := os.Stat(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

// isTestVariant reports whether the path is one of those that go list -test
// adds: "p.test", and "p [q.test]" for p as the tests of q see it.
func isTestVariant(path string) bool {
	return strings.HasSuffix(path, ".test") || strings.Contains(path, " [")
}

func explain(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return errors.New(string(exit.Stderr))
	}
	return err
}

func load(t *testing.T) *house {
	t.Helper()
	h, err := loadHouse()
	if err != nil {
		t.Fatalf("The go command could not list the packages: %v", err)
	}
	if len(h.packages) < 3 {
		t.Fatalf("Only %d packages of %s were found; the test looks at the wrong place.", len(h.packages), h.module)
	}
	return h
}

// short is the name of a package of this module in the table, or "" if the path
// belongs to another module.
func (h *house) short(path string) string {
	if path == h.module {
		return "."
	}
	short, ours := strings.CutPrefix(path, h.module+"/")
	if !ours {
		return ""
	}
	return short
}

// names are the short names of all packages, sorted.
func (h *house) names() []string {
	var names []string
	for name := range h.packages {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// matches reports whether pattern stands for the name: it is the name, or ends
// in "/..." and the rest of it is the name or a parent.
func matches(pattern, name string) bool {
	parent, tree := strings.CutSuffix(pattern, "/...")
	return name == parent || tree && strings.HasPrefix(name, parent+"/")
}

func anyMatches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// rowOf finds the row of a package; one of its own comes before one of a tree.
func rowOf(name string) *row {
	for _, exact := range []bool{true, false} {
		for i, r := range table {
			if exact && r.pkg == name || !exact && matches(r.pkg, name) {
				return &table[i]
			}
		}
	}
	return nil
}

func TestEveryPackageHasARow(t *testing.T) {
	for _, name := range load(t).names() {
		if rowOf(name) == nil {
			t.Errorf("Package %s has no row in internal/layout/table_test.go. Add one: which packages of this module it may import, and why no others.", name)
		}
	}
	for i, r := range table {
		if r.why == "" {
			t.Errorf("The row of %s gives no reason.", r.pkg)
		}
		if slices.ContainsFunc(table[:i], func(other row) bool { return other.pkg == r.pkg }) {
			t.Errorf("Package %s has two rows.", r.pkg)
		}
	}
}

func TestImportsPointDown(t *testing.T) {
	h := load(t)
	for _, name := range h.names() {
		r := rowOf(name)
		if r == nil {
			continue // TestEveryPackageHasARow says so
		}
		p := h.packages[name]
		for _, path := range p.Imports {
			if h.standard[path] || path == "C" {
				continue
			}
			ours := h.short(path)
			if ours != "" && !anyMatches(r.may, ours) {
				t.Errorf("Package %s imports %s and must not: %s. Turn the dependency around, or change its row in internal/layout/table_test.go if the design changed.", name, ours, r.why)
			}
			if ours == "" && !startsWithModule(path, r.from) {
				t.Errorf("Package %s imports %s of another module and must not: %s. Each dependency needs a reason in ARCHITECTURE.md and a place in its row in internal/layout/table_test.go.", name, path, r.why)
			}
		}
		for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
			if h.standard[path] || h.short(path) != "" || path == "C" {
				continue
			}
			if !startsWithModule(path, slices.Concat(r.from, r.test, testsMayUse)) {
				t.Errorf("The tests of package %s import %s, and tests use only %s of other modules.", name, path, strings.Join(testsMayUse, ", "))
			}
		}
	}
}

func startsWithModule(path string, modules []string) bool {
	return slices.ContainsFunc(modules, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") })
}

func TestBans(t *testing.T) {
	h := load(t)
	for _, b := range bans {
		for _, name := range b.of {
			p := h.packages[name]
			if p == nil {
				if rowOf(name) == nil {
					t.Errorf("A ban names package %s, which is not in the table.", name)
				}
				continue
			}
			seen := p.Imports
			if b.deep {
				seen = p.Deps
			}
			for _, path := range seen {
				if anyMatches(b.what, path) {
					t.Errorf("Package %s must not import %s%s: %s.", name, path, h.through(p, path, b.deep), b.why)
				}
			}
		}
	}
}

// through names a direct import of p by which it reaches path.
func (h *house) through(p *goPackage, path string, deep bool) string {
	if !deep || slices.Contains(p.Imports, path) {
		return ""
	}
	for _, direct := range p.Imports {
		if q := h.packages[h.short(direct)]; q != nil && slices.Contains(q.Deps, path) {
			return ", not even through " + h.short(direct)
		}
	}
	return ", not even through others"
}
