package docs

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTestsNameStatements(t *testing.T) {
	for name, want := range map[string]string{
		"TestR12_Terminal":        "[R12]",
		"TestE1_E9_E80_Together":  "[E1 E9 E80]",
		"FuzzI13_Anything":        "[I13]",
		"TestR12":                 "[]",
		"TestRetries":             "[]",
		"TestE4x_Not":             "[]",
		"TestSomething_R12_Later": "[]",
		"BenchmarkR30_Do":         "[]",
	} {
		if got := fmt.Sprint(statementsOf(name)); got != want {
			t.Errorf("%s names %s, want %s", name, got, want)
		}
	}
}

func TestStatementsAreJudged(t *testing.T) {
	chapters, err := readStatements("# a comment\n\n## One\nR1 done One.\nR2 done Two | three.\nR3 done Six.\n## Two\nE1 open Four.\nE2 open Five.\n")
	if err != nil {
		t.Fatal(err)
	}
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	proofs, err := findProofs(fstest.MapFS{
		"a/a_test.go":                     file("package a\nfunc TestR1_E2_X(t *testing.T) {}\nfunc (T) TestE1_Method() {}\n"),
		"b_linux_test.go":                 file("//go:build linux\n\npackage b\nfunc FuzzR1_Y(f *testing.F) {}\nfunc TestE99_Z(t *testing.T) {}\n"),
		"c_test.go":                       file("package c\nfunc TestR3_Z(t *testing.T) { extent.OnlyAtNight(t, \"it is long\") }\n"),
		"a/a.go":                          file("package a\nfunc TestR2_NoTest() {}\n"),
		"a/testdata/x_test.go":            file("package x\nfunc TestR2_Data(t *testing.T) {}\n"),
		"a/testdata/scripts/E1_x.txtar":   file("$ perdure list\n"),
		"a/testdata/postgres/E2_y.txtar":  file("$ perdure list\n"),
		"a/testdata/others/R2_none.txtar": file("$ perdure list\n"),
		".git/x_test.go":                  file("no Go at all"),
	})
	if err != nil {
		t.Fatal(err)
	}
	faults := strings.Join(judgeProofs(chapters, proofs), "\n")
	want := "No test names R2 (Two | three.) Write one whose name begins with TestR2_.\n" +
		"R3 (Six.) is proved at night only, by TestR3_Z.\n" +
		"TestE99_Z in b_linux_test.go names E99, which is no statement of internal/docs/testdata/statements.txt."
	if faults != want {
		t.Errorf("%s\nwant\n%s", faults, want)
	}
	page := statementTables(chapters, proofs)
	for _, line := range []string{
		"| R1 | One. | [TestR1_E2_X](../a/a_test.go)<br>[FuzzR1_Y](../b_linux_test.go) |",
		`| R2 | Two \| three. | none yet |`, "| E1 | Four. | [TestScripts/E1_x](../a/testdata/scripts/E1_x.txtar) |",
		"| E2 | Five. | [TestR1_E2_X](../a/a_test.go)<br>[TestPostgresScripts/E2_y](../a/testdata/postgres/E2_y.txtar) |", "## Two",
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("%q is missing in\n%s", line, page)
		}
	}
}

func TestListsThatCannotBeRead(t *testing.T) {
	for list, want := range map[string]string{
		"## A\nR1 maybe Text.":         "line 2",
		"## A\nX1 done Text.":          "line 2",
		"## A\nR1 done":                "line 2",
		"R1 done Text.":                "before the first heading",
		"## A\nR1 done A.\nR1 open B.": "line 3: R1 is there twice",
	} {
		if _, err := readStatements(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", list, err, want)
		}
	}
}

func TestStatementsThatAreOutdatedAreNamed(t *testing.T) {
	is := "## A\n\n| R1 | x | a |\n| R2 | y | b |\n| R3 | z | c |\n"
	want := "## A\n\n| R1 | x | a |\n| R2 | y | b<br>c |\n| E4 | z | c |\n"
	if got := fmt.Sprint(outdated(is, want)); got != "[E4 R2 R3]" {
		t.Error(got)
	}
	if got := outdated(is, is); len(got) != 0 {
		t.Error(got)
	}
}
