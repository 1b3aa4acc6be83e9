package goldenfile

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// Updating reports whether golden files are rewritten.
func Updating() bool { return *update }

// Compare fails the test at the first line in which the file is not as it should be.
func Compare(t *testing.T, path, should string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(should), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	is, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\nRun the test with -update to write it.", err)
	}
	i, w := strings.Split(strings.ReplaceAll(string(is), "\r\n", "\n"), "\n"), strings.Split(should, "\n")
	line := func(s []string, n int) string {
		if n < len(s) {
			return s[n]
		}
		return "(end of file)"
	}
	for n := range max(len(i), len(w)) {
		if line(i, n) != line(w, n) {
			t.Fatalf("%s:%d\n     is: %s\nshould be: %s\nRun the test with -update to rewrite it, and read the difference.", path, n+1, line(i, n), line(w, n))
		}
	}
}

// Section is Compare of the part of a file between two marks, of which there is one each.
func Section(t *testing.T, path, begin, end, should string) {
	t.Helper()
	is, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(is), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place between %q and %q", path, begin, end)
	}
	Compare(t, path, before+begin+should+end+after)
}

// Cases plays a file of cases: each begins with a line that starts with "===", and
// its first line that starts with "---" begins what follows from it. Play gets the
// lines between the two and returns those from "---" on. What stands before the
// first case is a comment.
func Cases(t *testing.T, path string, play func(in string) string) (cases int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var should, in strings.Builder
	open, inside := false, false // a case; its input
	end := func() {
		if open {
			should.WriteString(play(in.String()))
			cases++
		}
		in.Reset()
	}
	for line := range strings.Lines(strings.ReplaceAll(string(data), "\r\n", "\n")) {
		switch {
		case strings.HasPrefix(line, "==="):
			end()
			open, inside = true, true
			should.WriteString(line)
		case open && strings.HasPrefix(line, "---"):
			inside = false
		case inside:
			in.WriteString(line)
			should.WriteString(line)
		case !open:
			should.WriteString(line)
		}
	}
	end()
	Compare(t, path, should.String())
	return cases
}
