package main

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// git runs git in a directory.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	args = append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)
	if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// checkout makes a repository of a small program in a directory of its own.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":              "module example.org/p\n\ngo 1.26.0\n",
		"LICENSE":             "free",
		"README.md":           "read",
		"CHANGELOG.md":        "none",
		"cmd/perdure/main.go": "package main\n\nimport (\n\t\"fmt\"\n\t\"runtime/debug\"\n)\n\nfunc main() {\n\tinfo, _ := debug.ReadBuildInfo()\n\tfmt.Println(info.Main.Version)\n}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
	t.Setenv("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "first")
	return dir
}

// Two checkouts of one commit, in two places, give the same bytes, and the binary knows
// its tag.
func TestAReleaseIsReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the standard library without paths")
	}
	here := []target{{runtime.GOOS, runtime.GOARCH}}
	var sums []string
	for range 2 {
		dir, out := checkout(t), filepath.Join(t.TempDir(), "dist")
		git(t, dir, "tag", "v1.2.3")
		if err := release(t.Context(), dir, out, here); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(text))
		if runtime.GOOS == "windows" {
			continue
		}
		base := "perdure_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH
		unpack := exec.CommandContext(t.Context(), "tar", "-xzf", base+".tar.gz")
		unpack.Dir = out
		if text, err := unpack.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		said, err := exec.CommandContext(t.Context(), filepath.Join(out, base, "perdure")).Output()
		if string(said) != "v1.2.3\n" || err != nil {
			t.Errorf("the binary says %q, %v", said, err)
		}
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 1 {
		t.Errorf("two builds differ:\n%s\n%s", sums[0], sums[1])
	}
}

// The archive for Windows is a zip that has the time of the commit.
func TestTheZip(t *testing.T) {
	dir, out, when := checkout(t), t.TempDir(), time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	name, err := pack(dir, out, "v1.2.3", target{"windows", "amd64"}, []byte("binary"), when)
	if name != "perdure_1.2.3_windows_amd64.zip" || err != nil {
		t.Fatalf("%q, %v", name, err)
	}
	archive, err := zip.OpenReader(filepath.Join(out, name))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	var names []string
	for _, f := range archive.File {
		names = append(names, filepath.Base(f.Name))
		if !f.Modified.Equal(when) {
			t.Errorf("%s is of %s", f.Name, f.Modified)
		}
	}
	if want := []string{"perdure.exe", "LICENSE", "README.md", "CHANGELOG.md"}; !slices.Equal(names, want) {
		t.Errorf("it holds %q, want %q", names, want)
	}
}

func TestWhatIsNotReleased(t *testing.T) {
	dir := checkout(t)
	out := filepath.Join(t.TempDir(), "dist")
	if err := release(t.Context(), dir, out, nil); err == nil || !strings.Contains(err.Error(), "tag it first") {
		t.Errorf("without a tag: %v", err)
	}
	git(t, dir, "tag", "v1.2.3")
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("changed"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := release(t.Context(), dir, out, nil); err == nil || !strings.Contains(err.Error(), "README.md") {
		t.Errorf("with changes: %v", err)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Error("something was written")
	}
}
