package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Section holds a marked section of a page in docs to a text that was made from
// code; with update it writes it there instead.
func Section(t testing.TB, update bool, page, name, text string) {
	t.Helper()
	path := filepath.Join(Root(), "docs", page)
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, is, after, err := cut(strings.ReplaceAll(string(old), "\r\n", "\n"), name)
	if err != nil {
		t.Fatalf("docs/%s: %v", page, err)
	}
	want := "\n" + strings.TrimSpace(text) + "\n\n"
	switch {
	case is == want:
	case update:
		if err := os.WriteFile(path, []byte(before+want+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("docs/%s is not what the code says, in section %s. Run this test with -update, and read the difference.\n--- the page\n%s\n--- the code\n%s", page, name, is, want)
	}
}

// Picture holds a picture in docs/pictures to what code draws; with update it writes it there
// instead.
func Picture(t testing.TB, update bool, name, svg string) {
	t.Helper()
	path := filepath.Join(Root(), "docs", "pictures", name)
	if update {
		if err := os.WriteFile(path, []byte(svg), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	is, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(is), "\r\n", "\n") != svg {
		t.Errorf("docs/pictures/%s is not what the code draws. Run this test with -update, and look at the picture.", name)
	}
	if len(svg) > 200<<10 {
		t.Errorf("docs/pictures/%s has %d bytes, of 200 KiB at most", name, len(svg))
	}
}

// cut finds what stands between the marks of a section.
func cut(text, name string) (before, between, after string, err error) {
	open, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	for _, mark := range []string{open, end} {
		if n := strings.Count(text, mark); n != 1 {
			return "", "", "", fmt.Errorf("the mark %q is there %d times; want once", strings.TrimSpace(mark), n)
		}
	}
	i, j := strings.Index(text, open)+len(open), strings.Index(text, end)
	if j < i {
		return "", "", "", fmt.Errorf("section %s ends before it begins", name)
	}
	return text[:i], text[i:j], text[j:], nil
}

// Root is the directory of the module, as it was when this was compiled.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}
