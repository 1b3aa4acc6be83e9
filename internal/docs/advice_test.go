package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// advised are the packages whose names errors and logs tell users to use, by directory.
var advised = map[string]string{
	"perdure": ".", "ops": "ops", "workflow": "workflow", "activity": "activity", "retry": "retry", "gate": "gate", "schedule": "schedule", "view": "view", "access": "access",
}

// TestF23_AdviceNamesWhatExists: whatever name of a package a text of the program tells its
// reader to use is declared there.
func TestF23_AdviceNamesWhatExists(t *testing.T) {
	declared := map[string]map[string]bool{}
	for name, dir := range advised {
		declared[name] = exported(t, filepath.Join("../..", dir))
	}
	named := regexp.MustCompile(`\b(perdure|ops|workflow|activity|retry|gate|schedule|view|access)\.([A-Z][A-Za-z]+)\b`)
	seen := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "elsewhere" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			text, is := n.(*ast.BasicLit)
			if !is || text.Kind != token.STRING {
				return true
			}
			said, err := strconv.Unquote(text.Value)
			if err != nil || !strings.Contains(said, " ") { // names of types are no advice
				return true
			}
			for _, m := range named.FindAllStringSubmatch(said, -1) {
				if seen++; !declared[m[1]][m[2]] {
					t.Errorf("%s: %q tells to use %s, which does not exist", path, said, m[0])
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 50 {
		t.Errorf("only %d names were found", seen)
	}
}

// exported returns the names that a package declares, with the methods of its types.
func exported(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				names[d.Name.Name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						names[s.Name.Name] = true
					case *ast.ValueSpec:
						for _, n := range s.Names {
							names[n.Name] = true
						}
					}
				}
			}
		}
	}
	return names
}
