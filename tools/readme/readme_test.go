package readme

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

const (
	root    = "../.."
	ours    = "github.com/perdure/perdure"
	version = "v0.0.1"
)

// TestF16_AStrangerFollowsThePages runs the pages as the package comment says, one after
// the other in a home that begins empty.
func TestF16_AStrangerFollowsThePages(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles everything with an empty cache")
	}
	home := stranger(t)
	for _, page := range []string{"README.md", "docs/getting-started.md"} {
		t.Run(page, func(t *testing.T) { home.follow(t, page) })
	}
}

// follow does what a page says, in a directory of its own.
func (p *place) follow(t *testing.T, page string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }))
	defer site.Close()
	p.dir = filepath.Join(p.home, strings.ReplaceAll(page, "/", "-"))
	p.state = p.dir + ".state"
	if err := os.Mkdir(p.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	said, ran := "", 0
	for _, b := range blocks {
		text := strings.ReplaceAll(b.text, "https://example.org/", site.URL+"/")
		switch {
		case b.proof != "":
			if !exists(t, b.proof) {
				t.Errorf(page+":%d is said to be proved by %s, which is no test", b.line, b.proof)
			}
		case b.excuse != "":
		case b.language == "sh":
			said = p.run(t, fmt.Sprintf("%s:%d", page, b.line), text)
			ran++
		case b.language == "" && shape(said) != shape(b.text):
			t.Errorf(page+":%d: the output is\n%s\nIts shape should be\n%s\nbut is\n%s", b.line, said, shape(b.text), shape(said))
		case b.language == "":
		case b.file != "":
			p.write(t, b.file, text)
		case b.language == "go" && !strings.HasPrefix(b.text, "package "): // compiled by internal/docs
		default:
			t.Errorf(page+":%d: a block of %q that is neither run, nor put into a file, nor proved elsewhere", b.line, b.language)
		}
	}
	if ran < 5 {
		t.Errorf("%s: only %d blocks were run", page, ran)
	}
}

// exists reports whether there is a test of a name in the repository.
func exists(t *testing.T, test string) bool {
	t.Helper()
	err := exec.CommandContext(t.Context(), "git", "-C", root, "grep", "-q", "func "+test+"(", "--", "*_test.go").Run()
	return err == nil
}

// place is where the stranger works: a shell whose state lasts from block to block.
type place struct {
	home, dir, state string
	env              []string
}

// stranger makes a home without caches, and a module proxy that has our module.
func stranger(t *testing.T) *place {
	t.Helper()
	home := t.TempDir()
	proxy := publish(t)
	upstream, err := exec.CommandContext(t.Context(), "go", "env", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{home: home}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "GO") || strings.HasPrefix(name, "PERDURE") || name == "PWD" {
			continue
		}
		p.env = append(p.env, kv)
	}
	p.env = append(p.env,
		"HOME="+home,
		"GOPATH="+filepath.Join(home, "go"),
		"GOCACHE="+filepath.Join(home, "cache"),
		"GOFLAGS=-modcacherw", // so that the test can remove it
		"GOPROXY=file://"+proxy+","+strings.TrimSpace(string(upstream)),
		"GONOSUMDB="+ours,
		"PATH="+filepath.Join(home, "go", "bin")+string(os.PathListSeparator)+os.Getenv("PATH"),
	)
	return p
}

// run runs a block and returns its output. A failure ends the test: what comes after it
// on the page builds on it.
func (p *place) run(t *testing.T, where, text string) string {
	t.Helper()
	script := fmt.Sprintf("set -e\n[ -f %[1]q ] && { . %[1]q; cd \"$STAY\"; }\n%[2]s\nexport STAY=\"$PWD\"; export -p | grep -E 'STAY|PERDURE' > %[1]q\n", p.state, text)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	var out, log bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s%s", where, err, text, &out, &log)
	}
	t.Logf("%s\n%s%s%s", where, text, &out, &log)
	return out.String()
}

// write puts a file where the shell is.
func (p *place) write(t *testing.T, name, text string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", fmt.Sprintf("[ -f %[1]q ] && { . %[1]q; cd \"$STAY\"; }; cat > %[2]q", p.state, name))
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, p.env, strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// publish makes a module proxy of a directory, with one version of our module in it.
func publish(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	at := filepath.Join(dir, filepath.FromSlash(ours), "@v")
	if err := os.MkdirAll(at, 0o777); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := modzip.CreateFromDir(file, module.Version{Path: ours, Version: version}, root); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"list":            version + "\n",
		version + ".info": fmt.Sprintf(`{"Version":%q,"Time":"2026-01-02T03:04:05Z"}`, version),
		version + ".mod":  string(mod),
	} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestParse(t *testing.T) {
	page := strings.ReplaceAll("Put this into `x.flow`:\n\n'''flow\na = 1\n'''\n\n<!-- proved by TestX -->\n'''sh\nb\n'''\n<!-- not run: it is far -->\n'''\nc\n'''\n'''sh\nd\n'''\n", "'", "`")
	blocks, err := parse(page)
	if err != nil {
		t.Fatal(err)
	}
	want := []block{
		{line: 3, language: "flow", text: "a = 1\n", file: "x.flow"},
		{line: 8, language: "sh", text: "b\n", proof: "TestX"},
		{line: 12, text: "c\n", excuse: "it is far"},
		{line: 15, language: "sh", text: "d\n"},
	}
	if !slices.Equal(blocks, want) {
		t.Errorf("the blocks are\n%+v, want\n%+v", blocks, want)
	}
	if _, err := parse("```sh\nrm"); err == nil {
		t.Error("a block without an end is accepted")
	}
}

func TestShape(t *testing.T) {
	got := shape("ID    TOOK\nrun-1   919µs  2026-11-23 03:37:40.964Z\n")
	if want := "ID TOOK\n# # # #"; got != want {
		t.Errorf("the shape is %q, want %q", got, want)
	}
	if shape("a 1 failed") == shape("a 1 done") || shape("2 b") != shape("30   b") {
		t.Error("shapes tell words apart, and not figures")
	}
}
