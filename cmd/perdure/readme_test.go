package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/pgtest"
)

// readme is the text of the project's first page.
func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// blocks are the fenced blocks of a language that begin with a text.
func blocks(text, language, begin string) []string {
	var found []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		if strings.HasPrefix(m[1], begin) {
			found = append(found, m[1])
		}
	}
	return found
}

// build makes a program of a text, as a user of the module would.
func build(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// onPostgres is the program of the README after the changes that its section about
// several machines asks for.
func onPostgres(t *testing.T, text string) string {
	t.Helper()
	programs, lines := blocks(text, "go", "package main"), blocks(text, "go", "\teng, err := perdure.OpenURL(")
	if len(programs) != 1 || len(lines) != 1 {
		t.Fatalf("the README has %d programs and %d lines that open a database; want one each", len(programs), len(lines))
	}
	old := regexp.MustCompile(`(?m)^\teng, err := perdure\.OpenURL\(.*\n`)
	if !old.MatchString(programs[0]) {
		t.Fatal("there is no line to change")
	}
	return strings.NewReplacer("\"log\"\n", "\"log\"\n\t\"os\"\n", "perdure/store/sqlite\"", "perdure/store/postgres\"").
		Replace(old.ReplaceAllLiteralString(programs[0], lines[0]))
}

// TestE80_TheProgramOfTheReadmeOutlivesItsNeighbour does what the README says: it runs
// the program on a file, and, as its section about several machines has it, two of
// them on one server, of which one is killed.
func TestE80_TheProgramOfTheReadmeOutlivesItsNeighbour(t *testing.T) {
	t.Parallel()
	text, url, dir := readme(t), pgtest.Database(t), t.TempDir()
	start := func(binary string) (*exec.Cmd, *bytes.Buffer) {
		cmd, out := exec.CommandContext(t.Context(), binary), &bytes.Buffer{}
		cmd.Dir, cmd.Stdout, cmd.Env = dir, out, append(os.Environ(), "PERDURE_DB="+url)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, out
	}
	server := build(t, onPostgres(t, text))
	alone, aloneOut := start(build(t, blocks(text, "go", "package main")[0]))
	survivor, survivorOut := start(server)
	untilShares(t, dir, url, 256)
	victim, _ := start(server)
	untilShares(t, dir, url, 128, 128)
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // killed
	if err := survivor.Wait(); err != nil || survivorOut.String() != "hello world <nil>\n" {
		t.Errorf("the survivor writes %q, %v", survivorOut, err)
	}
	if err := alone.Wait(); err != nil || aloneOut.String() != "hello world <nil>\n" {
		t.Errorf("on a file it writes %q, %v", aloneOut, err)
	}
}

// untilShares waits until live nodes own so many partitions.
func untilShares(t *testing.T, dir, db string, want ...int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		var shares []int
		for _, n := range nodes(t, dir, db) {
			if n.State == "live" {
				shares = append(shares, n.Partitions)
			}
		}
		if slices.Equal(shares, want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after a minute the live nodes own %v partitions, want %v", shares, want)
		}
	}
}

func TestPagesNameCommandsThatExist(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]string{} // by the page that names it last
	for _, page := range append(pages, filepath.Join("..", "..", "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range blocks(string(text), "sh", "perdure ") {
			text = append(text, strings.ReplaceAll("\n"+block, "\nperdure ", "\ncmd/perdure ")...)
		}
		for _, m := range regexp.MustCompile("cmd/perdure ([a-z]+(?:-[a-z]+)*)|`perdure ([a-z]+(?:-[a-z]+)*)").FindAllStringSubmatch(string(text), -1) {
			named[m[1]+m[2]] = page
		}
	}
	if len(named) < 5 {
		t.Fatalf("only %d commands were found", len(named))
	}
	for name, page := range named {
		if stdout, stderr, code := run(t, t.TempDir(), name, "--help"); code != 0 || !strings.Contains(stdout, "perdure "+name) {
			t.Errorf("%s names %s: exit code %d\n%s", page, name, code, stderr)
		}
	}
}
