package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheSite renders all documents: every link leads to a page, a heading or a file, and
// every document is in the menu or an example.
func TestTheSite(t *testing.T) {
	out := t.TempDir()
	if err := generate("../..", out); err != nil {
		t.Fatal(err)
	}
	home, err := os.ReadFile(filepath.Join(out, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<title>perdure</title>", `<a href="docs/retries.html">`, `aria-current="page"`, "<table>"} {
		if !strings.Contains(string(home), want) {
			t.Errorf("the first page has no %s", want)
		}
	}
	pictures := regexp.MustCompile(`(?:src|srcset)="([^"]+)"`).FindAllStringSubmatch(string(home), -1)
	if len(pictures) < 2 {
		t.Errorf("the first page shows %d pictures, want one for light and one for dark", len(pictures))
	}
	for _, picture := range pictures {
		if _, err := os.Stat(filepath.Join(out, picture[1])); err != nil {
			t.Error(err)
		}
	}
	for _, name := range menu {
		if _, err := os.Stat(filepath.Join(out, strings.TrimSuffix(strings.Replace(name, "README", "index", 1), ".md")+".html")); err != nil {
			t.Errorf("%s is in the menu, and not on the site: %v", name, err)
		}
	}
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range docs {
		if name := "docs/" + filepath.Base(file); !strings.Contains(strings.Join(menu, " "), name) {
			t.Errorf("%s is not in the menu", name)
		}
	}
}

func TestLinksThatLeadNowhere(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"README.md": "# A\n[b](b.md#there) [c](b.md#not-there) [d](d.md) [e](e.txt) [f](#a)\n",
		"b.md":      "# B\n## There\n",
		"e.txt":     "",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	err := generate(root, t.TempDir())
	if err == nil || strings.Count(err.Error(), "\n") != 1 ||
		!strings.Contains(err.Error(), `"b.md#not-there" leads to no heading of b.md; it has b, there`) || !strings.Contains(err.Error(), `"d.md" leads nowhere`) {
		t.Errorf("it says %v", err)
	}
}
