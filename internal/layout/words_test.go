package layout

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOneWordOneThing: no function, method or type of a package has a name that the table of words
// in CONTRIBUTING.md has retired there.
func TestOneWordOneThing(t *testing.T) {
	h := load(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| Word | What it means | Not | In |\n|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if !found || len(rows) < 5 {
		t.Fatalf("CONTRIBUTING.md has a table of %d words: does this test still find it?", len(rows))
	}
	rooms := map[string][]string{"engine": {"internal/engine"}, "postgres": {"store/postgres"}, "sqlite": {"store/sqlite"}, "suspects": {"internal/suspects", "internal/suspicion"}}
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		if len(cells) != 4 {
			t.Errorf("%q is not a row of four cells", row)
			continue
		}
		for _, in := range strings.Split(cells[3], ", ") {
			if rooms[in] == nil {
				t.Errorf("the word %s is of %q: say here which packages that is", cells[0], in)
			}
			for _, room := range rooms[in] {
				for _, name := range declared(t, h, room) {
					if slices.Contains(strings.Split(cells[2], ", "), name) {
						t.Errorf("%s declares %s: the word is %s, %s", room, name, cells[0], cells[1])
					}
				}
			}
		}
	}
}

// declared lists the functions, methods and types of a package.
func declared(t *testing.T, h *house, room string) (names []string) {
	t.Helper()
	for _, s := range sources(t, h, room) {
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				names = append(names, d.Name.Name)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, is := s.(*ast.TypeSpec); is {
						names = append(names, s.Name.Name)
					}
				}
			}
		}
	}
	if len(names) < 30 {
		t.Errorf("only %d names of %s were found", len(names), room)
	}
	return names
}
