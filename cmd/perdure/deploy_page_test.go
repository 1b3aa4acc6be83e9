package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/goldenfile"
	"github.com/perdure/perdure/internal/pgtest"
)

// fenced is a fenced block of a page: its language and its text.
var fenced = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```\n")

// TestF16_Version2IsDeployedAsThePageSays does what docs/deploy-version-2.md says, on a database of
// its own: it writes the program, applies the change, runs the commands, and compares what they
// write. The flag -update writes what they write into the page.
func TestF16_Version2IsDeployedAsThePageSays(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "docs", "deploy-version-2.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w := newWalk(t)
	said, last, ran := "", "", 0
	page := fenced.ReplaceAllStringFunc(string(text), func(block string) string {
		m := fenced.FindStringSubmatch(block)
		switch language, text := m[1], m[2]; language {
		case "go":
			w.write("main.go", text)
		case "diff":
			w.write("change", text)
			w.sh("git apply change")
		case "sh":
			said, last = w.sh(text), text
			ran++
		case "":
			for wait := patience(); steady(said) != steady(text) && reads(last) && wait > 0; wait -= pause {
				time.Sleep(pause)
				said = w.sh(last)
			}
			if steady(said) != steady(text) {
				if goldenfile.Updating() {
					return "```\n" + said + "```\n"
				}
				t.Errorf("after\n%s\nthe output is\n%s\nbut the page says\n%s", last, said, text)
			}
		default:
			t.Errorf("a block of %q is neither run nor compared", language)
		}
		return block
	})
	if ran < 8 {
		t.Errorf("only %d blocks were run", ran)
	}
	if page != string(text) {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const pause = 100 * time.Millisecond

// patience is how long what the commands before have asked for may take to be seen.
func patience() time.Duration {
	if goldenfile.Updating() {
		return 2 * time.Second
	}
	return time.Minute
}

// reads reports whether commands only read, so that they can be repeated until what they wait for
// has happened.
func reads(commands string) bool {
	return regexp.MustCompile(`^perdure (list|nodes|attempts|show) ?[\w-]*\n$`).MatchString(commands)
}

var changing = regexp.MustCompile(`\d{4}[-/]\d\d[-/]\d\d \d\d:\d\d:\d\d(\.\d+Z)?|(\d+(\.\d+)?(µs|ms|s|m)){1,2}\b|[0-9a-f]{8}-[0-9a-f-]{27}`)

// steady is an output without what differs from run to run: times, IDs and the width of columns.
func steady(output string) string {
	var lines []string
	for line := range strings.Lines(changing.ReplaceAllString(output, "#")) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// walk is a directory with a module of its own and a shell, in which perdure is the command under test.
type walk struct {
	*testing.T
	dir string
	env []string
}

func newWalk(t *testing.T) *walk {
	t.Helper()
	w := &walk{T: t, dir: t.TempDir()}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		w.write(name, strings.Replace(string(data), "module github.com/perdure/perdure\n",
			"module shop\n\nrequire github.com/perdure/perdure v0.0.0\n\nreplace github.com/perdure/perdure => "+root+"\n", 1))
	}
	if err := os.Mkdir(filepath.Join(w.dir, "bin"), 0o777); err != nil {
		t.Fatal(err)
	}
	w.write("bin/perdure", fmt.Sprintf("#!/bin/sh\n%s=1 exec %q \"$@\"\n", asCommand, self))
	if err := os.Chmod(filepath.Join(w.dir, "bin", "perdure"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.env = append(os.Environ(), "PATH="+filepath.Join(w.dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"),
		"PERDURE_DB="+pgtest.Database(t), "PERDURE_GROUP=", "PERDURE_BY=ann", "GOFLAGS=-mod=mod -buildvcs=false", "CGO_ENABLED=0")
	t.Cleanup(func() { w.sh("for node in *.pid; do kill -9 $(cat $node) 2>/dev/null || true; done") })
	return w
}

func (w *walk) write(name, text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

// sh runs commands, and returns what they write. Programs that they start in the background go on.
func (w *walk) sh(commands string) string {
	w.Helper()
	cmd := exec.Command("bash", "-c", "set -e\n"+commands)
	var out, complaints bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, w.env, &out, &complaints
	if err := cmd.Run(); err != nil {
		w.Fatalf("%v\n%s%s%s", err, commands, &out, &complaints)
	}
	return out.String()
}
