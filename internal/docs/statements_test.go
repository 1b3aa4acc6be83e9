package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// statement is one thing that perdure promises.
type statement struct {
	id, says string
	done     bool // a test must name it
}

// chapter is a heading of the list and what stands below it.
type chapter struct {
	title      string
	statements []statement
}

// proof is a test that names statements, or a script that does: TestScripts of its package plays it.
type proof struct {
	name, file string
	night      bool // it plays at night only
}

// TestStatementsHaveTests holds docs/statements.md to the names of all tests of the
// repository, and demands one for each statement that is marked as done.
func TestStatementsHaveTests(t *testing.T) {
	list, err := os.ReadFile(filepath.Join("testdata", "statements.txt"))
	if err != nil {
		t.Fatal(err)
	}
	chapters, err := readStatements(string(list))
	if err != nil {
		t.Fatal(err)
	}
	proofs, err := findProofs(os.DirFS(Root()))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range judgeProofs(chapters, proofs) {
		t.Error(fault)
	}
	text := statementTables(chapters, proofs)
	if *update {
		Section(t, true, "statements.md", "statements", text)
		return
	}
	page, err := os.ReadFile(filepath.Join(Root(), "docs", "statements.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, is, _, err := cut(strings.ReplaceAll(string(page), "\r\n", "\n"), "statements")
	if err != nil {
		t.Fatal(err)
	}
	if old := outdated(is, text); len(old) > 0 {
		t.Errorf("docs/statements.md is not up to date about %s; run: go test ./internal/docs -run TestStatements -update", strings.Join(old, ", "))
	}
}

// outdated names what two versions of the tables say differently: the whole of them
// is too long for a message.
func outdated(is, want string) (what []string) {
	for _, pair := range [][2]string{{is, want}, {want, is}} {
		other := strings.Split(pair[1], "\n")
		for _, line := range strings.Split(pair[0], "\n") {
			if !slices.Contains(other, line) {
				cells := strings.Split(line, "|")
				what = append(what, strings.TrimSpace(cells[min(1, len(cells)-1)]))
			}
		}
	}
	slices.Sort(what)
	return slices.Compact(what)
}

var statementLine = regexp.MustCompile(`^([REIWFPUTG][0-9]+) (done|open) (.+)$`)

// readStatements reads the list of statements.
func readStatements(text string) (chapters []chapter, err error) {
	seen := map[string]bool{}
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if title, is := strings.CutPrefix(line, "## "); is {
			chapters = append(chapters, chapter{title: title})
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := statementLine.FindStringSubmatch(line)
		switch {
		case m == nil:
			return nil, fmt.Errorf("line %d, %q: want a number (R, E, I, W, F, G, P, U or T), done or open, and a sentence", n+1, line)
		case len(chapters) == 0:
			return nil, fmt.Errorf("line %d: %s stands before the first heading", n+1, m[1])
		case seen[m[1]]:
			return nil, fmt.Errorf("line %d: %s is there twice", n+1, m[1])
		}
		seen[m[1]] = true
		last := &chapters[len(chapters)-1]
		last.statements = append(last.statements, statement{id: m[1], says: m[3], done: m[2] == "done"})
	}
	return chapters, nil
}

var testName = regexp.MustCompile(`^(?:Test|Fuzz|Test(?:Postgres)?Scripts/)((?:[REIWFPUTG][0-9]+_)+)`)

// statementsOf are those that a test proves, by its name.
func statementsOf(test string) []string {
	m := testName.FindStringSubmatch(test)
	if m == nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(m[1], "_"), "_")
}

// scriptTests are the tests that play the scripts of directories in testdata.
var scriptTests = map[string]string{"scripts": "TestScripts", "postgres": "TestPostgresScripts"}

// findProofs finds the tests that name statements, in every module of the
// repository, whatever system they are for.
func findProofs(repo fs.FS) (map[string][]proof, error) {
	found := map[string][]proof{}
	err := fs.WalkDir(repo, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		dir := path.Dir(name)
		if script, is := strings.CutSuffix(base, ".txtar"); is && path.Base(path.Dir(dir)) == "testdata" {
			test := scriptTests[path.Base(dir)] + "/" + script
			for _, id := range statementsOf(test) {
				found[id] = append(found[id], proof{name: test, file: name})
			}
		}
		if !strings.HasSuffix(base, "_test.go") || strings.Contains("/"+name, "/testdata/") {
			return nil
		}
		source, err := fs.ReadFile(repo, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, is := decl.(*ast.FuncDecl)
			if !is || f.Recv != nil {
				continue
			}
			for _, id := range statementsOf(f.Name.Name) {
				found[id] = append(found[id], proof{f.Name.Name, name, playsAtNight(f)})
			}
		}
		return nil
	})
	return found, err
}

// playsAtNight reports whether a test begins by leaving the day out.
func playsAtNight(f *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Body.List, func(s ast.Stmt) bool {
		e, _ := s.(*ast.ExprStmt)
		if e == nil {
			return false
		}
		call, _ := e.X.(*ast.CallExpr)
		if call == nil {
			return false
		}
		name, _ := call.Fun.(*ast.SelectorExpr)
		return name != nil && name.Sel.Name == "OnlyAtNight"
	})
}

// judgeProofs says what is wrong with statements and tests.
func judgeProofs(chapters []chapter, proofs map[string][]proof) (faults []string) {
	rest := maps.Clone(proofs)
	for _, c := range chapters {
		for _, s := range c.statements {
			if named := proofs[s.id]; s.done && len(named) > 0 && !slices.ContainsFunc(named, func(p proof) bool { return !p.night }) {
				faults = append(faults, fmt.Sprintf("%s (%s) is proved at night only, by %s.", s.id, s.says, named[0].name))
			}
			if s.done && len(proofs[s.id]) == 0 {
				faults = append(faults, fmt.Sprintf("No test names %s (%s) Write one whose name begins with Test%s_.", s.id, s.says, s.id))
			}
			delete(rest, s.id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(rest)) {
		faults = append(faults, fmt.Sprintf("%s in %s names %s, which is no statement of internal/docs/testdata/statements.txt.", rest[id][0].name, rest[id][0].file, id))
	}
	return faults
}

// statementTables are the sections of the page.
func statementTables(chapters []chapter, proofs map[string][]proof) string {
	var b strings.Builder
	for _, c := range chapters {
		fmt.Fprintf(&b, "## %s\n\n| | | tests |\n|---|---|---|\n", c.title)
		for _, s := range c.statements {
			tests := make([]string, len(proofs[s.id]))
			for i, p := range proofs[s.id] {
				tests[i] = fmt.Sprintf("[%s](../%s)", p.name, p.file)
			}
			if len(tests) == 0 {
				tests = []string{"none yet"}
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", s.id, strings.ReplaceAll(s.says, "|", "\\|"), strings.Join(tests, "<br>"))
		}
		b.WriteString("\n")
	}
	return b.String()
}
