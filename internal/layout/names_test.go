package layout

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/goldenfile"
)

// named are the public packages whose exported names are in testdata/names.
var named = []string{".", "ops", "view", "view/bounds", "workflow", "activity", "retry", "gate", "gate/spec", "schedule", "access", "api", "dashboard", "intercept", "telemetry", "telemetry/meter", "telemetry/tracing"}

// maxRootNames is how many names the root package may export: a small front door.
const maxRootNames = 65

// TestExportedNames: a new name in a public package, or one that goes, is a decision that
// shows in testdata/names. The test rewrites the files with -update.
func TestExportedNames(t *testing.T) {
	for _, dir := range named {
		name := filepath.Base(dir)
		if dir == "." {
			name = "perdure"
		}
		names, methods := exported(t, dir)
		if dir == "." && len(names) > maxRootNames {
			t.Errorf("the root exports %d names, and %d is the limit: operator verbs belong into ops, views into view", len(names), maxRootNames)
		}
		all := slices.Sorted(slices.Values(slices.Concat(names, methods)))
		goldenfile.Compare(t, filepath.Join("testdata", "names", name+".txt"), strings.Join(all, "\n")+"\n")
	}
}

// exported lists the exported names of a package, and the methods of its types.
func exported(t *testing.T, dir string) (names, methods []string) {
	t.Helper()
	fset := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	d, err := doc.NewFromFiles(fset, files, dir, doc.Mode(0))
	if err != nil {
		t.Fatal(err)
	}
	values := func(vs []*doc.Value, kind string) {
		for _, v := range vs {
			for _, n := range v.Names {
				if token.IsExported(n) {
					names = append(names, kind+" "+n)
				}
			}
		}
	}
	functions := func(fs []*doc.Func) {
		for _, f := range fs {
			names = append(names, "func "+f.Name)
		}
	}
	values(d.Consts, "const")
	values(d.Vars, "var")
	functions(d.Funcs)
	for _, x := range d.Types {
		names = append(names, "type "+x.Name)
		values(x.Consts, "const")
		values(x.Vars, "var")
		functions(x.Funcs)
		for _, m := range x.Methods {
			methods = append(methods, "type "+x.Name+" method "+m.Name)
		}
	}
	return names, methods
}
