package record_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/view"
)

// TestStatesHaveOneWordEach: the core, the store and the views have the same words for
// where a run or a call stands, and none has a word that the others lack. So a state is
// translated by its type alone, both ways.
func TestStatesHaveOneWordEach(t *testing.T) {
	inCore, inStore, inView := words(t, "../core"), words(t, "../../store"), words(t, "../../view")
	for _, typ := range []string{"Status", "CallState"} {
		if len(inCore[typ]) == 0 || !slices.Equal(inCore[typ], inStore[typ]) {
			t.Errorf("of type %s the core has %q and the store has %q", typ, inCore[typ], inStore[typ])
		}
	}
	shown := func(typ string) (all []string) {
		for _, w := range inStore[typ] {
			if !strings.HasPrefix(w, "#") { // entities of the engine are shown as gates and schedules
				all = append(all, core.ShownState(core.CallState(w)))
			}
		}
		return slices.Compact(slices.Sorted(slices.Values(all)))
	}
	if got := inView["Status"]; !slices.Equal(got, shown("Status")) {
		t.Errorf("the views have the statuses %q and the store has %q", got, shown("Status"))
	}
	// A call without a row is in its first attempt or waits for something else than an
	// attempt, which no store knows of. And several states together are selected by one word.
	calls := slices.DeleteFunc(slices.Clone(inView["Call"]), func(w string) bool { return w == view.CallWaiting || w == view.CallRetrying })
	if want := shown("CallState"); !slices.Equal(calls, want) {
		t.Errorf("the views have the states of calls %q and the store has %q", calls, want)
	}
}

// words are the values of the constants of a package: by their type, or for constants
// without one by the word with which their names begin.
func words(t *testing.T, dir string) map[string][]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(paths), err)
	}
	sets := map[string]map[string]bool{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			g, is := d.(*ast.GenDecl)
			if !is || g.Tok != token.CONST || strings.HasSuffix(path, "_test.go") {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				for i, value := range v.Values {
					text, is := value.(*ast.BasicLit)
					if !is || text.Kind != token.STRING {
						continue
					}
					word, _ := strconv.Unquote(text.Value)
					for _, kind := range kindsOf(v, i) {
						if sets[kind] == nil {
							sets[kind] = map[string]bool{}
						}
						sets[kind][word] = true
					}
				}
			}
		}
	}
	all := map[string][]string{}
	for kind, set := range sets {
		all[kind] = slices.Sorted(maps.Keys(set))
	}
	return all
}

func kindsOf(v *ast.ValueSpec, i int) []string {
	if typ, is := v.Type.(*ast.Ident); is {
		return []string{typ.Name}
	}
	name := v.Names[i].Name
	for _, kind := range []string{"Status", "Call"} {
		if strings.HasPrefix(name, kind) {
			return []string{kind}
		}
	}
	return nil
}
