package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/goldenfile"
	"github.com/perdure/perdure/store"
)

func TestMain(m *testing.M) {
	if args := os.Getenv(asCommand); args != "" {
		os.Exit(beCommand(args))
	}
	time.Local = time.UTC // times in tables are those of the zone
	os.Exit(m.Run())
}

// TestScripts runs the scripts of testdata. Each is a text in which commands stand
// in lines that begin with "$ ", and after each what it wrote: standard output in
// lines that begin with "|", standard error in lines with "!", and its exit code
// if that is not 0. Everything else is comment. Time is virtual: it begins in the
// year 2000 and passes only while the engine runs.
//
//	$ perdure ARGUMENTS    with NAME=VALUE before it for the environment, and
//	                       < TEXT after it for the standard input
//	$ engine 10s           an engine works for so long
//	$ engine 10s v2        one with other code
//	$ engine 10s in GROUP  one of a group
//	$ served COMMAND       a command while an engine works
//	$ write FILE TEXT      makes a file; \n is a line break
func TestScripts(t *testing.T) {
	extent.NotInShort(t, "many commands, one after the other")
	scripts(t, filepath.Join("testdata", "*.txt"), func(t *testing.T, dir, script string) (got string) {
		synctest.Test(t, func(t *testing.T) { got = (&player{t: t, dir: dir, db: shopFile()}).play(script) })
		return got
	})
}

// scripts plays some scripts, each in a directory of its own.
func scripts(t *testing.T, pattern string, play func(t *testing.T, dir, script string) string) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatal("there are no scripts: ", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			script := strings.ReplaceAll(string(text), "\r\n", "\n")
			full, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			t.Chdir(dir)
			got := play(t, dir, script)
			if goldenfile.Updating() {
				if err := os.WriteFile(full, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			difference(t, script, got)
		})
	}
}

// difference reports the first line in which two texts differ.
func difference(t *testing.T, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	command := ""
	for i := range max(len(w), len(g)) {
		line := func(all []string) string {
			if i < len(all) {
				return all[i]
			}
			return "(nothing more)"
		}
		if strings.HasPrefix(line(g), "$ ") {
			command = line(g)
		}
		if line(w) != line(g) {
			t.Errorf("line %d, after\n  %s\nthe script expects\n  %s\nand got\n  %s\nIf that is meant, run with -update and read the difference.", i+1, command, line(w), line(g))
			return
		}
	}
}

// player plays one script.
type player struct {
	t     *testing.T
	dir   string
	db    store.Opener
	sql   func(statement string)
	names *strings.Replacer // of what scripts call by other names
	back  *strings.Replacer
	runs  map[string]string // what run IDs are called

	work func(t *testing.T, db store.Opener, d time.Duration) // of an engine, nil for that of the shop
	live bool                                                 // an engine works beside the commands
}

// play runs the commands and returns the script as it should be.
func (p *player) play(script string) string {
	var out strings.Builder
	lines := strings.Split(strings.TrimSuffix(script, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		out.WriteString(line + "\n")
		command, isCommand := strings.CutPrefix(line, "$ ")
		if !isCommand {
			continue
		}
		for i+1 < len(lines) && isResult(lines[i+1]) {
			i++
		}
		out.WriteString(p.run(command))
	}
	return out.String()
}

func isResult(line string) bool {
	return strings.HasPrefix(line, "|") || strings.HasPrefix(line, "!") || strings.HasPrefix(line, "exit ")
}

// run runs one command and returns its result as lines of the script.
func (p *player) run(line string) string {
	if p.names != nil {
		line = p.names.Replace(line)
	}
	for id, name := range p.runs {
		line = strings.ReplaceAll(line, name, id)
	}
	words := split(p.t, line)
	env := map[string]string{"PERDURE_BY": "zoe"}
	for name, value, ok := strings.Cut(words[0], "="); ok; name, value, ok = strings.Cut(words[0], "=") {
		env[name] = value
		words = words[1:]
	}
	stdin := ""
	if n := len(words); n > 2 && words[n-2] == "<" {
		stdin, words = words[n-1], words[:n-2]
	}
	switch words[0] {
	case "perdure":
		var stdout, stderr bytes.Buffer
		start := time.Now()
		code := Run(p.t.Context(), Env{
			Args: words[1:], Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr,
			Getenv: func(name string) string { return env[name] }, Now: time.Now,
		})
		if p.live { // the outcome is there at the first look, or at one of the next
			time.Sleep(10*time.Millisecond - time.Since(start))
		}
		result := prefixed("|", p.normal(stdout.String())) + prefixed("!", p.normal(stderr.String()))
		if code != 0 {
			result += fmt.Sprintf("exit %d\n", code)
		}
		return result
	case "served":
		result := ""
		workWhile(p.t, p.db, func() {
			start := time.Now()
			result = p.run(strings.TrimPrefix(line, "served "))
			// The outcome is there at the first look, or at the next one, 2ms later.
			time.Sleep(2*time.Millisecond - time.Since(start))
		}, false)
		return result
	case "engine":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			p.t.Fatal(err)
		}
		if p.work != nil {
			p.work(p.t, p.db, d)
			break
		}
		work(p.t, p.db, d, slices.Contains(words, "v2"), inGroup(words)...)
	case "sql":
		p.sql(strings.Join(words[1:], " "))
	case "write":
		if err := os.WriteFile(words[1], []byte(strings.ReplaceAll(words[2], `\n`, "\n")), 0o644); err != nil {
			p.t.Fatal(err)
		}
	default:
		p.t.Fatalf("there is no %q in scripts", words[0])
	}
	return ""
}

// inGroup is the group that an engine of a script is told.
func inGroup(words []string) []perdure.Option {
	if i := slices.Index(words, "in"); i >= 0 {
		return []perdure.Option{perdure.Group(words[i+1])}
	}
	return nil
}

// split splits a line into words as a shell does; single quotes hold one together.
func split(t *testing.T, line string) []string {
	t.Helper()
	var words []string
	var word strings.Builder
	quoted, begun := false, false
	for _, c := range line {
		switch {
		case c == '\'':
			quoted, begun = !quoted, true
		case c == ' ' && !quoted:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if quoted {
		t.Fatalf("a quote is open at the end of: %s", line)
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}

func prefixed(mark, text string) string {
	if text == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(mark+" "+strings.TrimSuffix(line, "\n"), " ") + "\n")
	}
	return b.String()
}

var (
	runID  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	nodeID = regexp.MustCompile(`node-1/[0-9a-f]{8}`)
)

// normal replaces what is different in every run by something of equal length.
func (p *player) normal(text string) string {
	if p.runs == nil {
		p.runs = map[string]string{}
	}
	text = runID.ReplaceAllStringFunc(text, func(id string) string {
		if p.runs[id] == "" {
			p.runs[id] = fmt.Sprintf("run-%032d", len(p.runs)+1)
		}
		return p.runs[id]
	})
	text = nodeID.ReplaceAllString(text, "node-1/xxxxxxxx")
	if p.back != nil {
		text = p.back.Replace(text)
	}
	real, err := filepath.EvalSymlinks(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	text = strings.ReplaceAll(text, real+string(filepath.Separator), "DIR/")
	return strings.ReplaceAll(text, real, "DIR")
}

func TestF3_AnInterruptHasItsOwnExitCode(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	synctest.Test(t, func(t *testing.T) { work(t, shopFile(), time.Second, false) })
	cancel()
	var stdout, stderr bytes.Buffer
	code := Run(ctx, Env{
		Args: []string{"list", "--db", "shop.db"}, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(string) string { return "" }, Now: time.Now,
	})
	if code != 130 {
		t.Errorf("exit code %d\n%s%s", code, stdout.String(), stderr.String())
	}
}
