package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// configured are the public packages whose options are settings of what runs.
var configured = []string{".", "ops", "workflow", "activity", "gate", "retry", "flow"}

// TestI11_EverySettingHasATest: each option that a public package exports is in the list
// of settings, with tests that exist and whose files use it.
func TestI11_EverySettingHasATest(t *testing.T) {
	list, err := os.ReadFile(filepath.Join("testdata", "settings.txt"))
	if err != nil {
		t.Fatal(err)
	}
	sources := testSources(t)
	listed := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		head, tests, ok := strings.Cut(line, ":")
		setting, known, renamed := strings.Cut(head, " as ")
		_, name, _ := strings.Cut(setting, ".")
		if !renamed {
			known = name
		}
		if !ok || listed[setting] || len(strings.Fields(tests)) == 0 {
			t.Errorf("%q: want a setting that was not there before, a colon and tests", line)
		}
		listed[setting] = true
		used := regexp.MustCompile(`\b` + regexp.QuoteMeta(known) + `\b`)
		for _, test := range strings.Fields(tests) {
			files := sources[test]
			if len(files) == 0 {
				t.Errorf("%s: no test is called %s", setting, test)
			} else if !used.MatchString(strings.Join(files, "\n")) {
				t.Errorf("%s: the file of %s does not say %s", setting, test, known)
			}
		}
	}
	for _, dir := range configured {
		for _, setting := range optionsOf(t, dir) {
			if !listed[setting] {
				t.Errorf("%s is a setting; the list names no test that sees its effect", setting)
			}
			delete(listed, setting)
		}
	}
	for setting := range listed {
		t.Errorf("no setting is called %s", setting)
	}
}

// optionsOf are the exported functions of a package that return an option.
func optionsOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Root(), dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, is := decl.(*ast.FuncDecl)
			if is && f.Recv == nil && f.Name.IsExported() && f.Type.Results != nil && len(f.Type.Results.List) == 1 && isOption(f.Type.Results.List[0].Type) {
				names = append(names, fmt.Sprint(file.Name.Name, ".", f.Name.Name))
			}
		}
	}
	if len(names) < 3 {
		t.Errorf("%s has only the options %q: how are they found?", dir, names)
	}
	return names
}

// isOption reports whether a type is named like one, of this package or another, with or
// without type parameters.
func isOption(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.HasSuffix(e.Name, "Option")
	case *ast.SelectorExpr:
		return isOption(e.Sel)
	case *ast.IndexExpr:
		return isOption(e.X)
	}
	return false
}

// testSources are the files of each test and example of the repository.
func testSources(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	declares := regexp.MustCompile(`(?m)^func ((?:Test|Example)\w*)\(`)
	err := filepath.WalkDir(Root(), func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, m := range declares.FindAllSubmatch(source, -1) {
			found[string(m[1])] = append(found[string(m[1])], string(source))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
