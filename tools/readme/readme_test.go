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
	"time"
)

const root = "../.."

// TestF16_AStrangerFollowsThePages runs the pages as the package comment says, one after
// the other in a home that begins empty.
func TestF16_AStrangerFollowsThePages(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the checkout again")
	}
	home := stranger(t)
	for _, program := range []string{"gcc", "cc", "clang", "chromium", "google-chrome", "promtool", "pgbouncer", "psql", "postgres", "python3"} {
		if out := home.sh(t, "command -v "+program+" || true"); out != "" {
			t.Errorf("the stranger's machine has %s", out)
		}
	}
	for _, page := range []string{"README.md", "docs/getting-started.md"} {
		t.Run(page, func(t *testing.T) { home.follow(t, page) })
	}
	if nightly {
		home.state = filepath.Join(home.home, "again") // in the checkout, wherever the last page led
		t.Run("make quick", func(t *testing.T) { t.Log(home.sh(t, "make quick")) })
	}
}

// nightly makes the test take its time: everything is fetched and compiled into empty caches in a
// copy of the checkout, and the tests that need no other programs are run. On each push the checkout
// and the caches of this machine serve: what is compiled at another path is compiled again.
var nightly = os.Getenv("PERDURE_NIGHTLY") != ""

// fromHere is a block as the stranger whose checkout is ours runs it: what lies beside the checkout
// lies in his home, and nothing is left behind in ours.
func (p *place) fromHere(text string) string {
	for _, change := range [][2]string{
		{"../perdure", p.checkout},
		{" ../", " " + p.home + "/"},
		{"perdure demo\n", "perdure demo --dir " + p.home + "/demo\n"},
	} {
		text = strings.ReplaceAll(text, change[0], change[1])
	}
	return text
}

// follow does what a page says, beginning in the checkout.
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
	p.state = filepath.Join(p.home, strings.ReplaceAll(page, "/", "-")+".state")
	said, ran := "", 0
	for _, b := range blocks {
		text := strings.ReplaceAll(b.text, "https://example.org/", site.URL+"/")
		if !nightly {
			text = p.fromHere(text)
		}
		switch {
		case b.proof != "":
			if !exists(t, b.proof) {
				t.Errorf(page+":%d is said to be proved by %s, which is not a test", b.line, b.proof)
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

// place is where the stranger works: a shell whose state lasts from block to block, and which begins
// in the checkout.
type place struct {
	home, checkout, state string
	env                   []string
}

// programs are those of the stranger's machine: Go, and what every system has.
var programs = strings.Fields("go gofmt git make bash sh env uname id nproc" +
	" cat cp mv rm ln ls mkdir mktemp rmdir touch chmod pwd dirname basename readlink" +
	" echo printf test true false expr date sleep kill ps head tail sort uniq tr cut wc tee grep sed awk find xargs yes")

// stranger makes a home with a checkout, on a machine that has Go and a shell.
func stranger(t *testing.T) *place {
	t.Helper()
	home := t.TempDir()
	p := &place{home: home, checkout: filepath.Join(home, "perdure"), state: filepath.Join(home, "none")}
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.Contains([]string{"PATH", "HOME", "PWD", "CI"}, name) && !strings.HasPrefix(name, "GO") && !strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "PERDURE") && !strings.HasPrefix(name, "MAKE") {
			p.env = append(p.env, kv)
		}
	}
	flags := "-modcacherw" // so that the test can remove it
	built, modules, proxy := goEnv(t, "GOCACHE"), goEnv(t, "GOMODCACHE"), goEnv(t, "GOPROXY")
	if !nightly {
		p.checkout, flags = here(t), "-buildvcs=false" // whoever owns it
	} else {
		built = filepath.Join(home, "cache")
		modules, proxy = filepath.Join(home, "modules"), "file://"+filepath.ToSlash(modules)+"/cache/download,"+proxy
	}
	p.env = append(p.env,
		"HOME="+home,
		"GOPATH="+filepath.Join(home, "go"),
		"GOCACHE="+built,
		"GOMODCACHE="+modules,
		"GOFLAGS="+flags,
		"GOPROXY="+proxy,
		"GOGC="+os.Getenv("GOGC"), // says how much the compiler collects, and nothing of the pages
		"PATH="+filepath.Join(home, "go", "bin")+string(os.PathListSeparator)+bin,
	)
	if nightly {
		p.checkOut(t)
	}
	return p
}

// here is the path of this checkout.
func here(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// goEnv is a variable of the go command here.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// checkOut copies the files of the repository, those included that are not committed yet, and
// makes a repository of them.
func (p *place) checkOut(t *testing.T) {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		from, to := filepath.Join(root, name), filepath.Join(p.checkout, name)
		info, err := os.Lstat(from)
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		var data []byte
		if err == nil {
			data, err = os.ReadFile(from)
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o777)
		}
		if err == nil {
			err = os.WriteFile(to, data, info.Mode().Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p.sh(t, "git init -q && git add -A && git -c user.name=stranger -c user.email=stranger@example.org commit -qm checkout")
}

// sh runs a command in the checkout and returns its output.
func (p *place) sh(t *testing.T, command string) string {
	t.Helper()
	return p.run(t, "in the checkout", command)
}

// run runs a block and returns its output. A failure ends the test: what comes after it
// on the page builds on it.
func (p *place) run(t *testing.T, where, text string) string {
	t.Helper()
	script := fmt.Sprintf("set -e\n[ -f %[1]q ] && { . %[1]q; cd \"$STAY\"; }\n%[2]s\nexport STAY=\"$PWD\"; export -p | grep -E 'STAY|PERDURE' > %[1]q\n", p.state, text)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	var out, log bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.checkout, p.env, &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s%s", where, err, text, &out, &log)
	}
	spent := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.Logf("%s, in %s of CPU\n%s%s%s", where, spent.Round(100*time.Millisecond), text, &out, &log)
	return out.String()
}

// write puts a file where the shell is.
func (p *place) write(t *testing.T, name, text string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", fmt.Sprintf("[ -f %[1]q ] && { . %[1]q; cd \"$STAY\"; }; cat > %[2]q", p.state, name))
	cmd.Dir, cmd.Env, cmd.Stdin = p.checkout, p.env, strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
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
